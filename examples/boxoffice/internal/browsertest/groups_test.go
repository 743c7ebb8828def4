package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// fakeGroups are two consumer groups, of which one has stopped.
type fakeGroups struct {
	asked []string // resets, with their requests
	lag   int      // of the one that has stopped
}

func (f *fake) groupRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/admin/groups", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		answer(w, 200, map[string]any{"groups": []any{
			map[string]any{"topic": "payment.events", "group": "event-payment-consumer", "lag": 3, "live": true},
			map[string]any{"topic": "payment.events", "group": "stats-service-group", "lag": f.groups.lag, "live": false},
		}})
	})
	mux.HandleFunc("POST /api/admin/groups/{topic}/{group}/reset", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			To, Since string
			DryRun    bool
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || (in.To == "") == (in.Since == "") {
			problem(w, 400, "Say where the group is to begin", "")
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if !in.DryRun {
			f.groups.lag = 42
		}
		f.groups.asked = append(f.groups.asked, fmt.Sprintf("%s %s to=%s since=%t dry=%t", r.PathValue("topic"), r.PathValue("group"), in.To, in.Since != "", in.DryRun))
		answer(w, 200, map[string]any{"topic": r.PathValue("topic"), "group": r.PathValue("group"), "dryRun": in.DryRun, "again": 42, "skipped": 0})
	})
}

// TestPagesGroups moves a stopped group by keyboard, with a confirmation; a running group
// has no button.
func TestPagesGroups(t *testing.T) {
	f := startFake(t)
	f.ops = func(n int) (any, any) { return opsWith(n, f.letters.report()), invariantsAnswer(true, true) }
	tb := open(t, f.url(), desktop())
	tb.visit("/ops")
	tb.fill("#token", fakeAdmin)
	tb.press(kb.Enter)
	tb.until(visible("#groups-look"))
	tb.click("#groups-look")
	tb.until("document.querySelectorAll('#groups-rows tr').length === 2")
	if n := eval[int](tb, "document.querySelectorAll('#groups-rows tr:first-child button').length"); n != 0 {
		t.Errorf("a group at work has %d buttons", n)
	}
	sound(tb, "the groups")
	const earliest = "#groups-rows tr:nth-child(2) button:nth-of-type(1)"
	tb.tabTo(earliest)
	tb.press(kb.Enter)
	tb.until(visible("#confirm") + " && document.activeElement.id === 'confirm-no'")
	if text := eval[string](tb, "document.querySelector('#confirm-text').textContent"); text != "stats-service-group gets 42 messages of payment.events again, and skips 0." {
		t.Errorf("it asks %q", text)
	}
	tb.press(kb.Escape)
	tb.until("!(" + visible("#confirm") + ")")
	tb.click("#groups-rows tr:nth-child(2) button:nth-of-type(2)")
	tb.click("#confirm-yes")
	tb.until("document.querySelector('#groups-status').textContent === '42 messages are delivered again.' && document.querySelector('#groups-rows tr:nth-child(2) .n').textContent === '42'")
	f.mu.Lock()
	defer f.mu.Unlock()
	const of = "payment.events stats-service-group "
	if want := []string{of + "to=earliest since=false dry=true", of + "to= since=true dry=true", of + "to= since=true dry=false"}; !slices.Equal(f.groups.asked, want) {
		t.Errorf("it asked for %q, want %q", f.groups.asked, want)
	}
}
