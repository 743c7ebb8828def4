package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// admittedOf is an office's list of admissions: one a second, the newest first.
func admittedOf(state string, users ...string) any {
	rows := make([]map[string]any, len(users))
	for i, user := range users {
		rows[i] = map[string]any{"eventId": "show-1", "userId": user, "admittedAt": fmt.Sprintf("2026-03-01T19:04:%02dZ", 59-i)}
	}
	return map[string]any{"state": state, "admissions": rows}
}

// TestPagesOpsAdmissions: the operator sees the admissions, the newest first, and the
// reason of an empty list.
func TestPagesOpsAdmissions(t *testing.T) {
	f := startFake(t)
	tb := open(t, f.url(), desktop())
	for i, c := range []struct {
		answer     any
		hint, rows string
	}{
		{admittedOf("on", "member-3", "member-2", "<b>member-1</b>"), "The newest 50, of all shows.", "member-3,member-2,<b>member-1</b>"},
		{admittedOf("on"), "Nobody has been let in yet.", ""},
		{admittedOf("off"), "Admissions are not recorded. To record them, set BOXOFFICE_NOTICE_URL.", ""},
		{admittedOf("away", "member-1"), "The transport of the admission notices is not connected. Admissions go on and are not recorded.", "member-1"},
		{admittedOf("elsewhere"), "Admissions are not recorded here: on this transport each notice has one reader, and that is another program.", ""},
	} {
		f.mu.Lock()
		f.admissions = c.answer
		f.mu.Unlock()
		if i == 0 {
			tb.visit("/ops")
			tb.fill("#token", fakeAdmin)
			tb.press(kb.Enter)
		} else {
			tb.run(chromedp.Reload())
		}
		tb.until(visible("#admissions"))
		tb.until(fmt.Sprintf("document.querySelector('#admissions-hint').textContent === %q", c.hint))
		if got := eval[string](tb, "[...document.querySelectorAll('#admissions-rows tr')].map(e => e.lastChild.textContent).join()"); got != c.rows {
			t.Errorf("%v: rows %q, want %q", c.answer, got, c.rows)
		}
		assert.Equalf(t, (c.rows != ""), eval[bool](tb, visible("#admissions-table")), "%v: the table is shown", c.answer)
	}
}
