package browsertest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/notices"
)

// TestPagesNoticeTexts: the pages show the server's text of each notification.
func TestPagesNoticeTexts(t *testing.T) {
	f := startFake(t)
	var cases []fakeNotice
	for _, typ := range []string{"FOLLOW", "POST_LIKE", "COMMENT", "VOTE_CLOSED", "RESERVATION", "", "other", "A_NEWER_TYPE"} {
		for _, outcome := range []string{"", "CONFIRMED", "CANCELLED", "REFUNDED"} {
			for _, reason := range []string{"", "USER_REQUEST", "PAYMENT_FAILED", "HOLD_TIMEOUT", "REFUNDED", "LATE", "A_NEWER_REASON"} {
				for n, names := range [][]string{nil, {"A-1"}, {"A-1", "A-2"}, {"{show}", "<b>", "A\u202eB\u2028\x00"}} {
					for _, message := range []string{"", " an older\nmessage "} {
						for _, member := range []string{"mina", "", "\u2066 \t"} {
							p := events.NoticeParams{Member: member, Show: "$& Winter, {member}", Outcome: outcome, Reason: reason}
							if typ == "VOTE_CLOSED" {
								p.Songs = names
							} else {
								p.Seats = names
							}
							if n == 3 {
								p.Show = "" // one that is missing
							}
							cases = append(cases, fakeNotice{Type: typ, Params: p, Message: message})
						}
					}
				}
			}
		}
	}
	list, err := json.Marshal(cases)
	require.NoError(t, err)
	for _, lang := range []string{"en", "ko"} {
		d := desktop()
		d.lang = lang
		tb := open(t, f.url(), d)
		tb.visit("/?lang=" + lang)
		eval[bool](tb, fmt.Sprintf("(import(new URL('notices.js', document.querySelector('script[src*=\"/js/\"]').src)).then((m) => { window.texts = %s.map(m.textOf); }), true)", list))
		tb.until("window.texts")
		texts := eval[[]string](tb, "window.texts")
		require.Lenf(t, texts, len(cases), "%d texts for %d notifications", len(texts), len(cases))
		for i, c := range cases {
			if want := notices.Text(lang, c.Type, c.Params, c.Message); texts[i] != want {
				t.Errorf("%s: %+v is %q on the page and %q in the API", lang, c, texts[i], want)
			}
		}
	}
}

// TestPagesNoticeLanguage shows live notifications in the language of the page, as
// text.
func TestPagesNoticeLanguage(t *testing.T) {
	f := startFake(t)
	d := desktop()
	d.lang = "ko"
	tb := signedIn(t, f, d, "mina", "/?lang=ko")
	f.tell("mina", "COMMENT", events.NoticeParams{Member: "jun", Show: "<img src=x onerror=alert(1)>"}, "show-1")
	const said = "jun 님이 <img src=x onerror=alert(1)> 공연에 댓글을 남겼어요"
	tb.until(fmt.Sprintf("document.querySelector('.toast')?.textContent.includes(%q)", said))
	tb.click("#bell")
	tb.until(fmt.Sprintf("document.querySelector('#inbox-list li')?.textContent.includes(%q)", said))
	assert.Equal(t, 0, eval[int](tb, "document.querySelectorAll('#inbox-list img, .toast img').length"), "a title became markup")
	if label := eval[string](tb, "document.querySelector('#inbox-list .tick').getAttribute('aria-label')"); label != "읽음으로 표시: "+said {
		t.Errorf("a screen reader hears %q", label)
	}
	f.notify("mina", "FOLLOW", "soo follows you", "mina") // stored by the version before
	tb.until("document.querySelector('#inbox-list li').textContent.includes('soo follows you')")
}
