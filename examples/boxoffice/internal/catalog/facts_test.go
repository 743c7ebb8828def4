package catalog_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
)

// another is a catalog without reads yet, as in another process.
func another(t *testing.T, b *boxtest.Box) *catalog.Catalog {
	t.Helper()
	c, err := catalog.New(b.Store, b.Outbox)
	require.NoError(t, err)
	return c
}

func facts(t *testing.T, c *catalog.Catalog, id string) catalog.Show {
	t.Helper()
	show, err := c.Show(t.Context(), id)
	require.NoError(t, err)
	return show
}

func TestFacts(t *testing.T) {
	b := boxtest.New(t)
	show := facts(t, b.Catalog, "show-1")
	if show.Venue != (catalog.Venue{Name: "Han River Hall", City: "Seoul", TimeZone: "Asia/Seoul"}) || show.Currency != "KRW" ||
		!show.StartsAt.After(time.Now()) || show.StartsAt.Sub(show.DoorsAt) != time.Hour {
		t.Errorf("%+v", show.Facts)
	}
	want := []catalog.Price{{Class: "VIP", Price: 150_000}, {Class: "R", Price: 120_000}, {Class: "S", Price: 90_000}}
	assert.Truef(t, reflect.DeepEqual(show.Prices, want), "prices %+v", show.Prices)
	prices := map[string]int64{}
	for _, p := range show.Prices {
		prices[p.Class] = p.Price
	}
	seats, err := b.Catalog.Seats(t.Context(), "show-1")
	require.NoError(t, err)
	seen := map[string]int{}
	for _, s := range seats {
		if seen[s.Class]++; s.Price != prices[s.Class] {
			t.Errorf("%s of class %q costs %d", s.ID, s.Class, s.Price)
		}
	}
	assert.Truef(t, reflect.DeepEqual(seen, map[string]int{"VIP": 125, "R": 175, "S": 200}), "seats by class: %v", seen)
	// Reserved seats cost the same.
	assert.Equal(t, prices["VIP"]+prices["S"], b.Reserve(t, "ann", "A-1", "T-25").Amount, "they cost")
}

func TestPerformers(t *testing.T) {
	b := boxtest.New(t)
	want := []catalog.Performer{{ArtistID: "42"}, {ArtistID: "113"}}
	if got := facts(t, b.Catalog, "show-1").Performers; !reflect.DeepEqual(got, want) {
		t.Errorf("before they are mirrored: %+v", got)
	}
	b.Exec(t, `INSERT INTO artists (artist_id, name) VALUES ('113', 'Luna Vale')`)
	want[1].Name = "Luna Vale"
	if got := facts(t, another(t, b), "show-1").Performers; !reflect.DeepEqual(got, want) {
		t.Errorf("after: %+v", got)
	}
}

func TestWithoutFacts(t *testing.T) {
	b := boxtest.New(t)
	for _, q := range []string{`DELETE FROM seat_classes`, `DELETE FROM show_performers`,
		`UPDATE shows SET venue = NULL, city = NULL, time_zone = NULL, doors_at = NULL, starts_at = NULL`} {
		b.Exec(t, q)
	}
	c := another(t, b)
	if show := facts(t, c, "show-2"); !reflect.DeepEqual(show.Facts, catalog.Facts{Currency: "KRW"}) || show.Seats.Total != 500 {
		t.Errorf("%+v", show)
	}
	seats, err := c.Seats(t.Context(), "show-2")
	if err != nil || len(seats) != 500 || seats[0].Class != "" || seats[0].Price != 150_000 {
		t.Errorf("%d seats, the first %+v, %v", len(seats), seats[0], err)
	}
	b.Reserve(t, "ann", "A-1")
}
