package site

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

// plain has ordinary spaces: a time is not broken over two lines.
func plain(text string) string { return strings.ReplaceAll(text, "\u00a0", " ") }

func in(lang string) view { return view{Lang: lang, catalog: locales.Of(lang)} }

// A date is in the language of the page and by the clock of the venue, also on the day
// on which that clock changes.
func TestMoment(t *testing.T) {
	for _, c := range []struct{ utc, zone, en, ko, name string }{
		{"2026-12-19T10:30:00Z", "Asia/Seoul", "Saturday, December 19, 2026, 7:30 PM", "2026년 12월 19일 토요일 오후 7:30", "KST"},
		{"2026-12-31T15:05:00Z", "Asia/Seoul", "Friday, January 1, 2027, 12:05 AM", "2027년 1월 1일 금요일 오전 12:05", "KST"},
		{"2026-07-04T16:00:00Z", "America/New_York", "Saturday, July 4, 2026, 12:00 PM", "2026년 7월 4일 토요일 오후 12:00", "EDT"},
		{"2026-11-01T06:30:00Z", "America/New_York", "Sunday, November 1, 2026, 1:30 AM", "2026년 11월 1일 일요일 오전 1:30", "EST"},
		{"2026-05-06T03:09:00Z", "Asia/Singapore", "Wednesday, May 6, 2026, 11:09 AM", "2026년 5월 6일 수요일 오전 11:09", "UTC+08"},
		{"2026-05-06T03:09:00Z", "Nowhere/At_All", "Wednesday, May 6, 2026, 3:09 AM", "2026년 5월 6일 수요일 오전 3:09", "UTC"},
	} {
		at, err := time.Parse(time.RFC3339, c.utc)
		require.NoError(t, err)
		at = at.In(place(c.zone))
		if en, ko := plain(in("en").moment(at)), plain(in("ko").moment(at)); en != c.en || ko != c.ko || zoneName(at) != c.name {
			t.Errorf("%s in %s: %q, %q, %s", c.utc, c.zone, en, ko, zoneName(at))
		}
	}
}

func TestMoney(t *testing.T) {
	for _, c := range []struct {
		amount       int64
		code, en, ko string
	}{
		{150_000, "KRW", "₩150,000", "150,000원"},
		{0, "KRW", "₩0", "0원"},
		{123_405, "USD", "USD 1,234.05", "1,234.05 USD"},
		{9_800, "JPY", "JPY 9,800", "9,800 JPY"},
		{12_345, "BHD", "BHD 12.345", "12.345 BHD"},
		{7, "?", "? 7", "7 ?"},
	} {
		if en, ko := in("en").money(c.amount, c.code), in("ko").money(c.amount, c.code); en != c.en || ko != c.ko {
			t.Errorf("%d %s: %q, %q", c.amount, c.code, en, ko)
		}
	}
}

// billed is a show with all facts.
func billed(id, title string, starts time.Time) catalog.Show {
	return catalog.Show{
		ID: id, Title: title, Seats: catalog.Counts{Total: 500, Available: 500}, Facts: catalog.Facts{
			StartsAt: starts, DoorsAt: starts.Add(-time.Hour),
			Venue: catalog.Venue{Name: "Han River Hall", City: "Seoul", TimeZone: "Asia/Seoul"}, Currency: "KRW", Prices: []catalog.Price{{Class: "VIP", Price: 150_000}, {Class: "S", Price: 90_000}},
			Performers: []catalog.Performer{{ArtistID: "42", Name: "Luna Vale"}, {ArtistID: "113", Name: ""}},
		},
	}
}

func TestShowSaysWhenAndWhere(t *testing.T) {
	h := handler(t, &programme{shows: []catalog.Show{billed("show-1", "Moonlight Parade", time.Date(2026, 12, 19, 10, 30, 0, 0, time.UTC)), {ID: "show-2", Title: "Bare"}}})
	for lang, want := range map[string][]string{
		"en": {"Saturday, December 19, 2026, 7:30 PM", "Doors open at 6:30 PM", "Local time at the venue, KST", "Han River Hall, Seoul", "VIP seats <b>₩150,000</b>", `<a href="/artists/113">Artist 113</a>`},
		"ko": {"2026년 12월 19일 토요일 오후 7:30", "입장 시작 오후 6:30", "공연장 현지 시각, KST", "Han River Hall, Seoul", "VIP석 <b>150,000원</b>", `<a href="/artists/113">아티스트 113</a>`},
	} {
		page := plain(get(h, "/shows/show-1", "Accept-Language", lang).Body.String())
		for _, part := range append(want, `<time datetime="2026-12-19T19:30:00&#43;09:00">`, `<time datetime="2026-12-19T18:30:00&#43;09:00">`, `<a href="/artists/42">Luna Vale</a>`) {
			assert.Containsf(t, page, part, "the show in %s lacks %s", lang, part)
		}
		if page := plain(get(h, "/", "Accept-Language", lang).Body.String()); !strings.Contains(page, want[0]) || !strings.Contains(page, want[3]) {
			t.Errorf("the list in %s lacks the date or the venue", lang)
		}
		assert.NoError(t, wellFormed(page))
	}
	bare := get(h, "/shows/show-2").Body.String()
	for _, part := range []string{"<time", "Local time", ">Where<", ">With<", ">Prices<"} {
		assert.NotContainsf(t, bare, part, "a show of which nothing is known has %s", part)
	}
}

// An artist's page has the coming shows, the next one first, and no others.
func TestComingShows(t *testing.T) {
	now := time.Now()
	others := billed("show-4", "Without them", now.Add(time.Hour))
	others.Performers = []catalog.Performer{{ArtistID: "7", Name: ""}}
	backend := &programme{shows: []catalog.Show{
		billed("show-1", "Later", now.AddDate(0, 1, 0)), billed("show-2", "Over", now.Add(-time.Hour)), billed("show-3", "Sooner", now.Add(time.Hour)),
		others, {ID: "show-5", Title: "Undated", Facts: catalog.Facts{Performers: []catalog.Performer{{ArtistID: "42", Name: ""}}}},
	}}
	h := handler(t, backend)
	page := get(h, "/artists/42").Body.String()
	_, coming, found := strings.Cut(page, `<section class="coming"`)
	sooner, later := strings.Index(coming, `href="/shows/show-3"`), strings.Index(coming, `href="/shows/show-1"`)
	if !found || sooner < 0 || later < sooner || strings.Count(coming, `href="/shows/`) != 2 {
		t.Errorf("coming: %s", coming)
	}
	assert.NoError(t, wellFormed(page))
	for _, target := range []string{"/artists/9", "/artists"} {
		assert.NotContainsf(t, get(h, target).Body.String(), `class="coming"`, "%s has shows of nobody", target)
	}
	backend.err = errors.New("the database is away")
	if w := get(h, "/artists/42"); w.Code != 200 || strings.Contains(w.Body.String(), `class="coming"`) {
		t.Errorf("without the shows the page of an artist is answered with %d", w.Code)
	}
}

// Facts from the database are shown as text.
func TestHostileFacts(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	show := billed("show-1", "x", time.Now().Add(time.Hour))
	show.Venue = catalog.Venue{Name: evil, City: evil, TimeZone: evil}
	show.Currency = evil
	show.Prices = []catalog.Price{{Class: evil, Price: 1}}
	show.Performers = []catalog.Performer{{ArtistID: evil, Name: evil}, {ArtistID: "42", Name: evil}}
	h := handler(t, &programme{shows: []catalog.Show{show}})
	for _, target := range []string{"/", "/shows/show-1", "/artists/42"} {
		page := get(h, target).Body.String()
		assert.NotContainsf(t, page, "<script>alert", "%s: a fact comes back as markup", target)
		assert.NoErrorf(t, wellFormed(page), "%s", target)
	}
}
