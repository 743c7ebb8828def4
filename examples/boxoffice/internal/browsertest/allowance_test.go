package browsertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// holds holds the last free seats of a show for a member, as another tab would.
func (f *fake) holds(member, event string, n int) *fakeReservation {
	f.mu.Lock()
	defer f.mu.Unlock()
	var take []*fakeSeat
	for _, seat := range slices.Backward(f.seats[event]) {
		if seat.Status == "AVAILABLE" && len(take) < n {
			take = append(take, seat)
		}
	}
	return f.book(member, event, take)
}

func (tb *tab) text(of string) string {
	return eval[string](tb, fmt.Sprintf("document.querySelector(%q).textContent", of))
}

// chooses clicks on the first n free seats.
func (tb *tab) chooses(n int) {
	tb.Helper()
	free := eval[[]string](tb, fmt.Sprintf("[...document.querySelectorAll('[data-state=available][data-seat]')].slice(0, %d).map(e => e.dataset.seat)", n))
	for _, seat := range free {
		tb.click(fmt.Sprintf("[data-seat='%s']", seat))
	}
}

// TestPagesAllowance: the plan says how many more seats one may take, takes no more, and
// shows the seats that another tab has taken meanwhile.
func TestPagesAllowance(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d device, name string) {
		f := startFake(t)
		tb := open(t, f.url(), d)
		tb.Expect("status of 409")
		tb.signIn("mina")
		f.holds("mina", "show-2", 4)
		words := map[string][3]string{
			"en": {"2 more seats", "You have all the seats", "may take 0 more"}, "ko": {"2석을 더", "모두 가졌어요", "0석을 더"},
		}[d.lang]
		tb.visit("/queue?event=show-2")
		tb.at("/events/")
		tb.until("!document.querySelector('#pick-go').disabled && document.querySelector('#allowance').textContent.includes('4')")
		assert.Contains(t, tb.text("#allowance"), words[0], "the plan")
		tb.chooses(3)
		tb.until("document.querySelectorAll('#basket li').length === 2 && " + visible("#problem"))
		assert.Contains(t, tb.text("#problem"), words[0], "about the seventh seat the page")
		tb.click("[data-step='1']")
		assert.Equal(t, 2, tb.count(), "the house would pick")
		sound(tb, "allowance")
		tb.sheet(name + "-allowance")
		// Another tab takes the rest: the hold is refused, and the page shows the reason.
		f.holds("mina", "show-2", 2)
		tb.click("#hold")
		tb.until("document.querySelectorAll('#basket li').length === 0 && " + visible("#problem"))
		assert.Contains(t, tb.text("#problem"), words[2], "the refusal")
		assert.Contains(t, tb.text("#allowance"), words[1], "the plan")
		sound(tb, "no allowance")
		tb.sheet(name + "-allowance-none")
	})
}

// TestPagesPaymentKept: a payment in flight at the end of the hold is not shown as lost.
func TestPagesPaymentKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d device, name string) {
		f := startFake(t)
		tb := open(t, f.url(), d)
		tb.signIn("mina")
		tb.book("show-1", 3)
		tb.until(visible("#allowance"))
		sound(tb, "pay")
		tb.sheet(name + "-pay")
		tb.click(".card.slow input")
		tb.click("#pay-go")
		tb.until(accepted)
		assert.False(t, eval[bool](tb, visible("#kept")), "the seats are said to be kept although the time is not over")
		f.mu.Lock()
		for _, res := range f.reservations {
			res.HoldExpiresAt = time.Now().Add(-time.Minute)
		}
		f.mu.Unlock()
		tb.until(view("processing") + " && " + visible("#kept"))
		sound(tb, "kept")
		tb.sheet(name + "-kept")
		f.settle("SUCCESS")
		tb.until(view("done"))
	})
}
