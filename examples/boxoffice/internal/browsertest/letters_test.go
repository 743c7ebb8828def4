package browsertest

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/sqlitebus"
)

// TestPagesDeadLetters handles dead letters: details, an edit, one, all.
func TestPagesDeadLetters(t *testing.T) {
	f := startFake(t)
	f.letters = buried(23)
	f.ops = func(n int) (any, any) { return opsWith(n, f.letters.report()), invariantsAnswer(true, true) }
	tb := open(t, f.url(), desktop())
	tb.Expect("status of 422")
	asked := func() []string {
		f.mu.Lock()
		defer f.mu.Unlock()
		out := slices.Clone(f.letters.asked)
		f.letters.asked = nil
		return out
	}
	count := func(n int) string {
		return fmt.Sprintf("document.querySelector('[data-topic] summary b')?.textContent.startsWith('%d ')", n)
	}
	letter := func(i int) string { return fmt.Sprintf("[data-id='0199a7c2-7f00-7abc-8def-%012d']", i) }
	tb.visit("/ops")
	tb.fill("#token", fakeAdmin)
	tb.press(kb.Enter)
	tb.until(count(23) + " && document.querySelectorAll('.letters li').length === 20")
	if text := eval[string](tb, "document.querySelector('[data-topic] > .hint').textContent"); text != "3 older letters are not shown here." {
		t.Errorf("of those that are not shown it says %q", text)
	}

	// The report is asked for once a second; the focus must stay.
	tb.tabTo(letter(22) + " button")
	f.mu.Lock()
	looks := f.looks
	f.mu.Unlock()
	for seen := looks; seen < looks+2; {
		tb.until("document.activeElement.matches('.letters button')")
		f.mu.Lock()
		seen = f.looks
		f.mu.Unlock()
	}
	if at := eval[string](tb, "document.activeElement.getAttribute('aria-label')"); at != "Details: PaymentSuccess 0199a7c2-7f00-7abc-8def-000000000022" {
		t.Errorf("after two looks the focus is on %q", at)
	}

	// Details, by keyboard, and another payload.
	tb.press(kb.Enter)
	tb.until(visible("#letter") + " && document.activeElement.id === 'letter-title'")
	tb.until("document.querySelector('#letter-payload').value.includes('\"amount\": 23000')")
	sound(tb, "the letter")
	tb.fill("#letter-payload", "{}")
	tb.click("#letter-save")
	tb.until(visible("#letter-problem"))
	if text := eval[string](tb, "document.querySelector('#letter-problem').textContent"); text != "This payload does not fit: it is no event." {
		t.Errorf("about a payload that is no event the page says %q", text)
	}
	assert.True(t, eval[bool](tb, "document.querySelector('#letter-redrive').disabled"), "a letter can be redriven while what was written is not saved")
	tb.fill("#letter-payload", `{"specversion": "1.0", "data": {"amount": 7}}`)
	tb.tabTo("#letter-save")
	tb.press(kb.Enter)
	tb.until("document.querySelector('#letter-save').disabled && document.activeElement.id === 'letter-redrive'")
	assert.Equal(t, []string{`edit {"specversion":"1.0","data":{"amount":7}}`}, asked(), "the edit asked for")
	// Meanwhile the list shows the edited letter again, with another button.
	tb.until(fmt.Sprintf("document.querySelector(%q).textContent.includes('edited once')", letter(22)))
	tb.press(kb.Escape)
	tb.until(fmt.Sprintf("!(%s) && document.activeElement === document.querySelector(%q)", visible("#letter"), letter(22)+" button"))

	// One, then one for good, with a confirmation.
	tb.click(letter(22) + " .actions button:nth-of-type(2)")
	tb.until(count(22) + " && document.querySelector('[data-topic] [role=status]').textContent === '1 letter redriven.'")
	tb.click(letter(21) + " .actions button:nth-of-type(3)")
	tb.until(visible("#confirm") + " && document.activeElement.id === 'confirm-no'")
	tb.press(kb.Escape)
	tb.until("!(" + visible("#confirm") + ")")
	tb.click(letter(21) + " .actions button:nth-of-type(3)")
	tb.click("#confirm-yes")
	tb.until(count(21))
	assert.Equal(t, []string{"redrive 1 dry=false", "drop 1 dry=false"}, asked(), "one by one asked for")

	// All: counted by a dry run, and in as many calls as it takes.
	f.mu.Lock()
	f.letters.portion = 8
	f.mu.Unlock()
	tb.click("[data-topic] .bar button:nth-of-type(1)")
	tb.until(visible("#confirm") + " && document.querySelector('#confirm-text').textContent.includes('The dry run counts 21 letters in dlq.payment')")
	tb.click("#confirm-yes")
	tb.until(visible("#dead-none") + " && document.querySelector('[data-topic]') === null")
	if got := asked(); !slices.Equal(got, []string{
		"redrive 21 dry=true", "redrive 8 dry=false", "redrive 8 dry=false 2026-03-01T20:00:00Z", "redrive 5 dry=false 2026-03-01T20:00:00Z",
	}) {
		t.Errorf("all asked for %q", got)
	}
	tb.until("document.querySelector('#live').textContent === '21 letters redriven.'")
}

// TestOfficeDeadLetters makes a dead letter of an unreadable event in the real box
// office, redrives it once, and drops it.
func TestOfficeDeadLetters(t *testing.T) {
	o := startOffice(t)
	// The transport is the same SQLite file, as another process sees it.
	files, err := filepath.Glob(filepath.Join(o.Dir, "*.db"))
	require.NoError(t, err)
	file := files[slices.IndexFunc(files, func(f string) bool { return !strings.Contains(f, "gateway") })]
	b, err := bus.Open(context.Background(), "sqlite://"+file, sqlitebus.Scheme(sqlitebus.Config{Logger: slog.New(slog.DiscardHandler)}))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close())
	})
	require.NoError(t, b.Publisher().Publish("payment.events", message.NewMessage("nobody-can-read-this", []byte("<payment/>"))))
	tb := open(t, o.url(), desktop())
	tb.visit("/ops")
	tb.fill("#token", o.Admin)
	tb.press(kb.Enter)
	const groups = 4 // of payment.events: each has given it up
	all := fmt.Sprintf("document.querySelectorAll('[data-topic=\"dlq.payment\"] .letters li').length === %d", groups)
	tb.until(all)
	tb.sheet("office-dead-letters")
	tb.click(".letters .actions button:nth-of-type(1)")
	tb.until(visible("#letter") + " && document.querySelector('#letter-payload').value === '<payment/>'")
	tb.shot("office-dead-letter")
	tb.click("#letter-close")
	tb.click("[data-topic='dlq.payment'] .bar button:nth-of-type(1)")
	tb.until(fmt.Sprintf("document.querySelector('#confirm-text').textContent.includes('counts %d letters')", groups))
	tb.click("#confirm-yes")
	tb.until(all + " && [...document.querySelectorAll('.letters li')].every(e => e.textContent.includes('redriven once')) && document.querySelector('[data-topic]').ariaBusy === 'false'")
	tb.click("[data-topic='dlq.payment'] .bar button:nth-of-type(2)")
	tb.click("#confirm-yes")
	tb.until(visible("#dead-none") + " && document.querySelector('#verdict').dataset.ok === 'yes'")
	waiting, err := b.Pending(t.Context(), "dlq.payment", driver.RedriveGroup, 10)
	if err != nil || len(waiting) != 0 {
		t.Errorf("%d letters are left in the topic: %v", len(waiting), err)
	}
}
