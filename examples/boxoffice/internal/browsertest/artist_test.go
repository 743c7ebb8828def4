package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// fresh is an expression: the freshness that the page of an artist shows.
func fresh(state string) string {
	return fmt.Sprintf("document.querySelector('#freshness')?.dataset.state === %q", state)
}

// hide makes the page believe that its tab is hidden, or seen again.
func (tb *tab) hide(hidden bool) {
	tb.Helper()
	eval[bool](tb, fmt.Sprintf(`(Object.defineProperty(document, "hidden", { configurable: true, get: () => %t }), document.dispatchEvent(new Event("visibilitychange")), true)`, hidden))
}

// TestPagesArtist finds an artist by keyboard and sees it turn from a first visit
// to FRESH by itself.
func TestPagesArtist(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.Expect("status of 500")
	f.artistIs("42", "NOT_FOUND", true, nil)
	tb.visit("/")
	tb.tabTo("nav a[href='/artists']")
	tb.press(kb.Enter)
	tb.at("/artists")
	tb.tabTo("#artist-id")
	tb.press("42", kb.Enter)
	tb.at("/artists/42")
	tb.until(fresh("UPDATING") + " && " + visible("#wait") + " && document.querySelector('#live').textContent.includes('First visit')")
	eval[bool](tb, "(globalThis.sameForEver = true)")

	f.artistIs("42", "UPDATING", true, 3200)
	tb.until("document.querySelector('#freshness').textContent === 'Updating' && document.querySelector('#wait-text').textContent === 'about 3 seconds'")
	tb.hide(true)
	hidden := f.artistLooks("42")
	// Longer than a visible page would have waited.
	tb.until("(globalThis.later ??= setTimeout(() => { globalThis.passed = true }, 2500), globalThis.passed)")
	if n := f.artistLooks("42"); n > hidden+1 { // one may have been under way
		t.Errorf("a hidden tab asked %d times", n-hidden)
	}
	f.artistIs("42", "FRESH", false, nil)
	tb.hide(false)
	tb.until(fresh("FRESH") + " && document.querySelector('h1').textContent === 'The Paper Lanterns' && !(" + visible("#wait") + ")")
	tb.until("document.querySelector('#live').textContent === 'The Paper Lanterns: Up to date. '")
	if !eval[bool](tb, "globalThis.sameForEver === true && document.title.startsWith('The Paper Lanterns')") {
		t.Error("the page was loaded again, or its title stayed")
	}
	if text := eval[string](tb, "document.querySelector('#times').textContent + document.querySelector('#facts').textContent"); !strings.Contains(text, "yesterday") || !strings.Contains(text, "City pop") {
		t.Errorf("the page says %q of when and what", text)
	}
	tb.tabTo("#groups summary")
	tb.press(kb.Enter)
	if text := eval[string](tb, "document.querySelector('#facts').innerText + document.querySelector('#groups').innerText"); !strings.Contains(text, "Genre") || !strings.Contains(text, "South Korea") ||
		!strings.Contains(text, "Fan club since") || !strings.Contains(text, "June 7, 2019") || !strings.Contains(text, "Figure 1\n") || strings.Contains(text, "f0001") || strings.Contains(text, "fanClub") {
		t.Errorf("the page says %q, want words and no keys", text)
	}
	tb.until("document.querySelectorAll('#groups dd').length === 24 && document.querySelector('#groups').innerText.includes('and 946 more')")

	f.artistIs("404", missing, false, nil)
	tb.visit("/artists/404")
	tb.until(fresh("NOT_FOUND") + " && document.querySelector('#explain').textContent.includes('no artist with this number')")
	f.breakArtists(true)
	tb.visit("/artists/42")
	tb.until(visible("#problem"))
	f.breakArtists(false)
	tb.hide(false) // a visitor that returns to the tab need not wait
	tb.until(fresh("FRESH") + " && !(" + visible("#problem") + ")")
}

// TestPagesArtistRefresh has an artist refreshed by keyboard alone, and is told the
// outcome.
func TestPagesArtistRefresh(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	tb.Expect("status of 409")
	said := func(words string) string {
		return fmt.Sprintf("document.querySelector('#refresh-said').textContent.includes(%q) && document.querySelector('#live').textContent.includes(%q)", words, words)
	}
	f.artistIs("42", "FRESH", false, nil)
	f.refreshIs("QUEUED")
	tb.visit("/artists/42")
	tb.until(fresh("FRESH") + " && " + visible("#refresh"))
	tb.tabTo("#refresh")
	tb.press(kb.Enter)
	tb.until(visible("#signin"))
	tb.press("ann", kb.Enter)
	tb.until(said("The agency is being asked") + " && document.activeElement.id === 'refresh'")
	f.artistIs("42", "FRESH", false, nil) // which is another answer, of now
	tb.until(said("there is something new"))
	for status, words := range map[string]string{"WAITING": "We noted it", "CHECKED": "asked a moment ago"} {
		f.refreshIs(status)
		tb.press(kb.Enter)
		tb.until(said(words))
	}
	f.refreshIs("artist-resting")
	tb.press(kb.Enter)
	tb.until(visible("#refresh-problem") + " && document.querySelector('#refresh-problem').textContent.includes('some minutes') && document.querySelector('#refresh-said').textContent === ''")
	assert.Equal(t, 4, f.artistWishes(), "wishes came")
	sound(tb, "an artist whose refresh was refused")
	// An artist that the agency does not have is not asked for repeatedly.
	f.artistIs("404", missing, false, nil)
	tb.visit("/artists/404")
	tb.until(fresh("NOT_FOUND") + " && !(" + visible("#refresh") + ")")
}

// plot checks the picture of the budget on the operator's page at hand: its
// lines, its bars, its words, and that it moves.
func (tb *tab) plot() {
	tb.Helper()
	tb.until("[...document.querySelectorAll('#calls .line')].map(e => e.dataset.calls).join() === '350,450,500'")
	tb.until("['low', 'high'].every(name => document.querySelector(`#calls path.${name}`).getAttribute('d').split('z').length === 61) && document.querySelector('#calls path.over').getAttribute('d') === ''")
	heights := eval[[]float64](tb, "[...document.querySelectorAll('#calls .line')].map(e => Number(e.getAttribute('y1')))")
	if !(heights[0] > heights[1] && heights[1] > heights[2] && heights[2] > 0) {
		tb.Errorf("the lines at 350, 450 and 500 are at heights %v", heights)
	}
	if inside := eval[bool](tb, `(b => [...document.querySelectorAll("#calls text")].every(e => { const r = e.getBoundingClientRect(); return r.left >= b.left - 1 && r.right <= b.right + 1 && r.top >= b.top - 1 && r.bottom <= b.bottom + 1 }))(document.querySelector("#calls").getBoundingClientRect())`); !inside {
		tb.Error("a word of the picture is outside of it")
	}
	const words = "document.querySelector('#calls').getAttribute('aria-label')"
	label := eval[string](tb, words)
	for _, part := range []string{"350", "450", "500", " high, ", "at most"} {
		if !strings.Contains(label, part) {
			tb.Errorf("a screen reader hears %q, which lacks %q", label, part)
		}
	}
	bars := eval[string](tb, "document.querySelector('#calls path.high').getAttribute('d')")
	tb.until(fmt.Sprintf("%s !== %q && document.querySelector('#calls path.high').getAttribute('d') !== %q", words, label, bars))
	tb.tabTo("#calls-details summary")
	tb.press(kb.Enter)
	tb.until("document.querySelectorAll('#calls-rows tr').length === 60")
	tb.shot("ops-calls-table")
	row := eval[[]string](tb, "[...document.querySelector('#calls-rows tr').children].map(e => e.textContent)")
	if len(row) != 4 || row[1] == "" || row[2] == "" || row[3] == "" {
		tb.Errorf("a row of the table is %q", row)
	}
	tb.until("document.querySelector('#day').textContent.includes('20,000,000') && document.querySelector('#breaker-database').textContent === 'closed'")
}

// unknownOps is an office that knows neither its budget nor whether there are dead
// letters.
func unknownOps(n int) (any, any) {
	report, _ := opsAnswer(n, 0, nil).(map[string]any)
	budget, _ := report["budget"].(map[string]any)
	for _, name := range []string{"granted", "denied", "waiting", "remaining", "dayUsed", "coalescer", "calls"} {
		budget[name] = nil
	}
	budget["callsError"] = "meter: series: no answer"
	budget["breakers"] = map[string]any{"limiter": nil, "coalescer": nil, "database": nil}
	budget["lag"] = map[string]any{"high": nil, "low": nil}
	report["deadLetters"] = []map[string]any{{"topic": "dlq.payment", "count": 0, "recent": []any{}, "ageSeconds": nil}}
	return report, invariantsAnswer(true, true)
}

// unknown checks how the operator's page at hand shows that figures are unknown.
func (tb *tab) unknown() {
	tb.Helper()
	tb.until(visible("#calls-none") + " && document.querySelector('#calls-none').textContent.includes('no answer')")
	for selector, want := range map[string]string{
		"#rate-now": "–", "#granted td": "–", "#tokens td": "–", "#behind td": "–", "#day": "– of 20,000,000", "#breaker-limiter": "not in this process",
		"#dead-none": "Not known: the transport has not shown them yet.",
	} {
		if text := eval[string](tb, fmt.Sprintf("document.querySelector(%q).textContent", selector)); text != want {
			tb.Errorf("%s says %q, want %q", selector, text, want)
		}
	}
	sound(tb, "an office that knows nothing of its budget")
}

// TestOfficeArtist makes the real office fetch an artist, and not find another, and
// looks at the calls for that.
func TestOfficeArtist(t *testing.T) {
	o := startOffice(t)
	tb := open(t, o.url(), desktop())
	tb.visit("/artists")
	tb.click("a[href='/artists/42']")
	tb.at("/artists/42")
	tb.until(fresh("FRESH") + " && document.querySelector('#level').textContent.startsWith('Level ') && document.querySelectorAll('#facts dd').length > 1")
	tb.sheet("office-artist")
	tb.visit("/artists/no-such")
	tb.until(fresh("NOT_FOUND") + " && document.querySelector('#explain').textContent.includes('no artist with this number')")
	tb.visit("/ops")
	tb.until("document.activeElement.id === 'token'")
	tb.fill("#token", o.Admin)
	tb.press(kb.Enter)
	tb.until(visible("#budget") + " && document.querySelector('#calls path.high')?.getAttribute('d').startsWith('M')")
	tb.until("Number(document.querySelector('#granted td').textContent) >= 2 && document.querySelector('#breaker-database').textContent === 'closed'")
	tb.until("document.querySelector('#dead [data-topic=update-dlq]') && document.querySelector('#verdict').dataset.ok === 'yes'") // a letter that breaks no rule
	tb.sheet("office-artist-budget")
}
