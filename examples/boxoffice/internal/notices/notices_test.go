package notices_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/notices"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

func TestTexts(t *testing.T) {
	const show = "Winter, Unplugged"
	one, two := []string{"A-1"}, []string{"A-1", "A-2"}
	for _, c := range []struct {
		typ    string
		p      events.NoticeParams
		en, ko string
	}{
		{notices.Follow, events.NoticeParams{Member: "mina"}, "mina follows you", "mina 님이 나를 팔로우해요"},
		{notices.PostLike, events.NoticeParams{Member: "mina", Show: show}, "mina likes Winter, Unplugged", "mina 님이 Winter, Unplugged 공연을 좋아해요"},
		{notices.Comment, events.NoticeParams{Member: "mina", Show: show}, "mina wrote about Winter, Unplugged", "mina 님이 Winter, Unplugged 공연에 댓글을 남겼어요"},
		{notices.VoteClosed, events.NoticeParams{Show: show}, "The setlist vote for Winter, Unplugged is over", "Winter, Unplugged 공연의 셋리스트 투표가 끝났어요"},
		{notices.VoteClosed, events.NoticeParams{Show: show, Songs: []string{"Slow Tide"}}, "The setlist vote for Winter, Unplugged is over: Slow Tide won", "Winter, Unplugged 공연의 셋리스트 투표가 끝났어요. 1위: Slow Tide"},
		{
			notices.VoteClosed, events.NoticeParams{Show: show, Songs: []string{"Northbound", "Slow Tide", "One More Song"}},
			"The setlist vote for Winter, Unplugged is over: Northbound, Slow Tide and One More Song won",
			"Winter, Unplugged 공연의 셋리스트 투표가 끝났어요. 1위: Northbound, Slow Tide, One More Song",
		},
		{notices.Reservation, events.NoticeParams{Show: show, Seats: one, Outcome: "CONFIRMED"}, "Your seat A-1 for Winter, Unplugged is booked", "Winter, Unplugged 공연의 좌석 A-1 예매가 완료됐어요"},
		{notices.Reservation, events.NoticeParams{Show: show, Seats: two, Outcome: "CONFIRMED"}, "Your seats A-1, A-2 for Winter, Unplugged are booked", "Winter, Unplugged 공연의 좌석 A-1, A-2 예매가 완료됐어요"},
		{notices.Reservation, events.NoticeParams{Show: show, Seats: one, Outcome: "CANCELLED", Reason: "USER_REQUEST"}, "Your seat A-1 for Winter, Unplugged is cancelled: as you asked", "요청하신 대로 Winter, Unplugged 공연의 좌석 A-1 예매를 취소했어요"},
		{notices.Reservation, events.NoticeParams{Show: show, Seats: two, Outcome: "CANCELLED", Reason: "PAYMENT_FAILED"}, "Your seats A-1, A-2 for Winter, Unplugged are cancelled: the payment failed", "결제가 되지 않아 Winter, Unplugged 공연의 좌석 A-1, A-2 예매가 취소됐어요"},
		{notices.Reservation, events.NoticeParams{Show: show, Seats: two, Outcome: "CANCELLED", Reason: "HOLD_TIMEOUT"}, "Your seats A-1, A-2 for Winter, Unplugged are cancelled: the hold timed out", "결제 시간이 지나 Winter, Unplugged 공연의 좌석 A-1, A-2 예매가 취소됐어요"},
		{notices.Reservation, events.NoticeParams{Show: show, Seats: one, Outcome: "CANCELLED", Reason: "REFUNDED"}, "Your seat A-1 for Winter, Unplugged is cancelled: the money is back", "Winter, Unplugged 공연의 좌석 A-1 예매가 취소됐고 결제 금액을 돌려드렸어요"},
		{
			notices.Reservation, events.NoticeParams{Show: show, Seats: one, Outcome: "REFUNDED", Reason: "LATE"},
			"Your payment for seat A-1 for Winter, Unplugged came too late. The seat was no longer held, and the money is back",
			"Winter, Unplugged 공연의 좌석 A-1 결제가 너무 늦게 도착했어요. 좌석이 이미 풀려서 결제 금액을 돌려드렸어요",
		},
		{notices.Reservation, events.NoticeParams{Show: show, Seats: one, Outcome: "CANCELLED", Reason: "A_NEWER_REASON"}, "Your seat A-1 for Winter, Unplugged is cancelled", "Winter, Unplugged 공연의 좌석 A-1 예매가 취소됐어요"},
		{notices.Transfer, events.NoticeParams{Member: "mina", Show: show, Seats: one, Outcome: events.TransferOffered}, "mina offers you seat A-1 for Winter, Unplugged", "mina 님이 Winter, Unplugged 공연의 좌석 A-1 티켓을 양도하려고 해요"},
		{notices.Transfer, events.NoticeParams{Member: "mina", Show: show, Seats: two, Outcome: events.TransferAccepted}, "mina accepted your offer of seats A-1, A-2 for Winter, Unplugged", "mina 님이 Winter, Unplugged 공연의 좌석 A-1, A-2 양도를 수락했어요"},
		{notices.Transfer, events.NoticeParams{Member: "mina", Show: show, Seats: one, Outcome: events.TransferDeclined}, "mina declined your offer of seat A-1 for Winter, Unplugged", "mina 님이 Winter, Unplugged 공연의 좌석 A-1 양도를 거절했어요"},
		{notices.Transfer, events.NoticeParams{Member: "mina", Show: show, Seats: one, Outcome: events.TransferWithdrawn}, "mina withdrew the offer of seat A-1 for Winter, Unplugged", "mina 님이 Winter, Unplugged 공연의 좌석 A-1 양도 제안을 취소했어요"},
		{notices.Transfer, events.NoticeParams{Member: "mina", Show: show, Seats: two, Outcome: events.TransferExpired}, "The offer of seats A-1, A-2 for Winter, Unplugged, between you and mina, has expired", "mina 님과의 Winter, Unplugged 공연 좌석 A-1, A-2 양도 제안이 만료됐어요"},
		{notices.Transfer, events.NoticeParams{Member: "mina", Show: show, Seats: one, Outcome: events.TransferDone}, "The transfer of seat A-1 for Winter, Unplugged, between you and mina, is complete", "mina 님과의 Winter, Unplugged 공연 좌석 A-1 양도가 완료됐어요"},
		{notices.Transfer, events.NoticeParams{Member: "mina", Show: show, Seats: two, Outcome: events.TransferFailed}, "The transfer of seats A-1, A-2 for Winter, Unplugged, between you and mina, failed", "mina 님과의 Winter, Unplugged 공연 좌석 A-1, A-2 양도가 이루어지지 않았어요"},
	} {
		assert.Equalf(t, c.en, notices.Text("en", c.typ, c.p, "old"), "%s %+v", c.typ, c.p)
		assert.Equalf(t, c.ko, notices.Text("ko", c.typ, c.p, "old"), "%s %+v", c.typ, c.p)
	}
}

// Each event that makes notifications has a type.
func TestTypeOf(t *testing.T) {
	for _, typ := range []string{events.MemberFollowed, events.PostLiked, events.CommentCreated, events.VoteClosed, events.ReservationNotice, events.TransferNotice} {
		if notices.TypeOf(typ) == "" {
			t.Errorf("%s makes no notification", typ)
		}
	}
	if typ := notices.TypeOf(events.ShowLiked); typ != "" {
		t.Errorf("%s makes %s", events.ShowLiked, typ)
	}
}

func TestWithoutParams(t *testing.T) {
	for _, c := range []struct {
		typ, message, en, ko string
		p                    events.NoticeParams
	}{
		{typ: notices.Follow, message: "mina follows you", en: "mina follows you", ko: "mina follows you"},
		{typ: notices.PostLike, message: "old", en: "old", ko: "old", p: events.NoticeParams{Member: "mina"}}, // no show
		{typ: notices.PostLike, message: "old", en: "old", ko: "old", p: events.NoticeParams{Member: "\u202e", Show: "x"}},
		{typ: notices.Reservation, message: "old", en: "old", ko: "old", p: events.NoticeParams{Show: "x", Outcome: "CONFIRMED"}}, // no seats
		{typ: "A_NEWER_TYPE", message: "old", en: "old", ko: "old", p: events.NoticeParams{Member: "mina"}},
		{typ: "A_NEWER_TYPE", message: "\n ", en: "There is news for you.", ko: "새 소식이 있어요."},
	} {
		if en, ko := notices.Text("en", c.typ, c.p, c.message), notices.Text("ko", c.typ, c.p, c.message); en != c.en || ko != c.ko {
			t.Errorf("%s %+v %q: %q and %q", c.typ, c.p, c.message, en, ko)
		}
	}
}

// Any name is text.
func TestHostileNames(t *testing.T) {
	p := events.NoticeParams{Member: "{show}\u202e\n<b>", Show: "$1 {member} \x00\u2028 \xff"}
	assert.Equal(t, "{show}  <b> likes $1 {member}    \ufffd", notices.Text("en", notices.PostLike, p, ""))
}

// judge returns the fault of a sentence, given all that its parameters hold.
func judge(text, params string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "it is empty"
	case !utf8.ValidString(text):
		return "it is not UTF-8"
	case strings.ContainsFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	}):
		return "it holds characters that are no text"
	case strings.Contains(text, "{") && !strings.Contains(params, "{"):
		return "a placeholder is left"
	}
	return ""
}

func TestAnyParams(t *testing.T) {
	types := []string{notices.Follow, notices.PostLike, notices.Comment, notices.VoteClosed, notices.Reservation, notices.Transfer, "", "other", "x"}
	reasons := []string{"", "USER_REQUEST", "PAYMENT_FAILED", "HOLD_TIMEOUT", "REFUNDED", "LATE", "one", "x"}
	rapid.Check(t, func(t *rapid.T) {
		p := events.NoticeParams{
			Member:  rapid.String().Draw(t, "member"),
			Show:    rapid.String().Draw(t, "show"),
			Seats:   rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "seats"),
			Outcome: rapid.SampledFrom([]string{"", "CONFIRMED", "CANCELLED", "REFUNDED", "OFFERED", "EXPIRED", "x"}).Draw(t, "outcome"),
			Reason:  rapid.SampledFrom(reasons).Draw(t, "reason"),
			Songs:   rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "songs"),
		}
		typ, message := rapid.SampledFrom(types).Draw(t, "type"), rapid.String().Draw(t, "message")
		all := strings.Join(slices.Concat([]string{p.Member, p.Show, message}, p.Seats, p.Songs), " ")
		for _, lang := range locales.Languages() {
			text := notices.Text(lang, typ, p, message)
			require.Equalf(t, "", judge(text, all), "%s in %s: %q", typ, lang, text)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("FOLLOW", "ann", "", "", "", "", "hello")
	f.Add("RESERVATION", "", "Moonlight Parade", "A-1", "CANCELLED", "HOLD_TIMEOUT", "")
	f.Add("VOTE_CLOSED", "\u202e", "{songs}", "\x00", "other", "one", "\xff")
	f.Fuzz(func(t *testing.T, typ, member, show, item, outcome, reason, message string) {
		p := events.NoticeParams{Member: member, Show: show, Seats: []string{item}, Outcome: outcome, Reason: reason, Songs: []string{item, item}}
		for _, lang := range locales.Languages() {
			text := notices.Text(lang, typ, p, message)
			require.Equalf(t, "", judge(text, strings.Join([]string{member, show, item, message}, " ")), "%q in %s: %q", typ, lang, text)
		}
	})
}

func TestNoParticleBehindPlaceholders(t *testing.T) {
	particle := regexp.MustCompile(`\}(은|는|이|가|을|를|과|와|으로|로|아|야|이랑|랑)(\s|$|[.,!])`)
	seen := 0
	for key, text := range locales.Of("ko") {
		if !strings.HasPrefix(key, "notice.text.") {
			continue
		}
		seen++
		assert.Falsef(t, particle.MatchString(text), "%s: %q has a particle whose form depends on a name", key, text)
	}
	if seen < 10 || !particle.MatchString("{show}을 좋아해요") {
		t.Fatalf("%d texts were read: the test no longer finds them", seen)
	}
}
