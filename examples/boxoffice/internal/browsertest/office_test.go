package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/launch"
)

// built is the folder that holds the program, once it was built.
var built string

// program builds the box office once.
var program = sync.OnceValues(func() (path string, err error) {
	if built, err = os.MkdirTemp("", "boxoffice-program-"); err != nil {
		return "", err
	}
	path = filepath.Join(built, "boxoffice")
	build := exec.Command("go", "build", "-o", path, "github.com/millrace-go/millrace/examples/boxoffice")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// office is a box office as people run it: its own process on a fresh data
// folder, and beside it the payment gateway, which no kill of the box office
// touches.
type office struct {
	launch.Office
	t       *testing.T
	addr    string
	process *launch.Process
}

func startOffice(t *testing.T) *office {
	t.Helper()
	browser(t) // skip before anything is built
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	o := &office{t: t, Office: launch.Office{Program: path, Dir: t.TempDir(), Admin: launch.NewAdminToken()}}
	gateway, err := o.StartGateway(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gateway.Kill() })
	if o.addr, err = launch.FreeAddr(); err != nil {
		t.Fatal(err)
	}
	o.start()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the box office printed at last:\n%s", o.process.Tail())
		}
		o.process.Kill()
	})
	return o
}

func (o *office) start() {
	o.t.Helper()
	process, err := o.StartServe(context.Background(), "boxoffice", "all", o.addr, 30*time.Second, nil)
	if err != nil {
		o.t.Fatal(err)
	}
	o.process = process
}

func (o *office) url() string { return "http://" + o.addr }

// seat is an expression: the state of a seat in the plan on the page.
func seat(id string) string {
	return fmt.Sprintf("document.querySelector(\"[data-seat='%s']\")?.dataset.state", id)
}

// TestOfficeBooks goes the whole way: from the list of shows to a paid ticket,
// and back to a refund.
func TestOfficeBooks(t *testing.T) {
	o := startOffice(t)
	tb := open(t, o.url(), desktop())
	tb.visit("/")
	tb.until("document.querySelectorAll('.show').length === 5")
	tb.click("a[href='/shows/show-1']")
	tb.at("/shows/show-1")
	tb.click("#get-seats")
	tb.until(visible("#signin"))
	tb.fill("#signin input", "mina")
	tb.click("#signin [type=submit]")
	tb.at("/events/show-1")
	tb.click("[data-seat='C-12']")
	tb.click("[data-seat='C-13']")
	tb.until("document.querySelector('#total').textContent === '₩300,000'")
	tb.click("#hold")
	tb.at("/checkout/")
	tb.until(view("pay") + " && document.querySelector('#amount').textContent === '₩300,000'")
	tb.click("#pay-go")
	tb.until(view("done"))
	tb.sheet("office-booked")
	tb.click("[data-for=done] a[href='/tickets']")
	tb.until("document.querySelector('.ticket.confirmed .states')?.textContent === 'BookedPaid'")
	tb.sheet("office-tickets")

	watcher := open(t, o.url(), phone())
	watcher.signIn("jun")
	watcher.visit("/queue?event=show-1")
	watcher.until(seat("C-12") + " === 'sold' && " + seat("C-13") + " === 'sold' && " + seat("C-14") + " === 'available'")
	watcher.click("[data-seat='C-12']") // sold: nothing happens
	if n := eval[int](watcher, "document.querySelectorAll('#basket li').length"); n != 0 {
		t.Errorf("a sold seat was chosen")
	}

	tb.click(".ticket.confirmed .actions button")
	tb.until(visible("#confirm"))
	tb.press(kb.Escape)
	tb.until("!(" + visible("#confirm") + ") && " + visible(".ticket.confirmed"))
	tb.click(".ticket.confirmed .actions button")
	tb.click("#confirm-yes")
	tb.until(visible(".ticket.cancelled") + " && document.querySelector('.ticket.cancelled .states').textContent.includes('Money returned')")
	watcher.until(seat("C-12") + " === 'available' && " + seat("C-13") + " === 'available'")
}

// TestOfficeDeclines pays with the card that the bank refuses.
func TestOfficeDeclines(t *testing.T) {
	o := startOffice(t)
	tb := open(t, o.url(), phone())
	tb.signIn("mina")
	tb.book("show-2", 3)
	tb.click(".card.decline input")
	tb.until("document.querySelector('#card').value === '4000 0000 0000 0002'")
	tb.click("#pay-go")
	tb.until(view("failed") + " && document.querySelector('#failed-reason').textContent.includes('declined')")
	tb.sheet("office-declined")
	tb.click("[data-for=failed] [data-seats]")
	tb.at("/events/show-2")
	tb.until("document.querySelectorAll('[data-state=available][data-seat]').length === 500")
	tb.visit("/tickets")
	tb.until("document.querySelector('.ticket.cancelled .states')?.textContent === 'Payment failedNot charged'")
}

// TestOfficeCancels gives held seats back at the checkout, and later others
// from the list of tickets.
func TestOfficeCancels(t *testing.T) {
	o := startOffice(t)
	tb := open(t, o.url(), desktop())
	tb.signIn("mina")
	tb.book("show-3", 2)
	tb.click("[data-cancel]")
	tb.click("#confirm-no")
	tb.until(view("pay"))
	tb.click("[data-cancel]")
	tb.click("#confirm-yes")
	tb.until(view("cancelled"))
	tb.book("show-3", 1)
	tb.visit("/tickets")
	tb.until("document.querySelectorAll('.ticket').length === 2 && " + visible(".ticket.pending"))
	tb.click(".ticket.pending button")
	tb.click("#confirm-yes")
	tb.until("document.querySelectorAll('.ticket.cancelled').length === 2")
	if text := eval[string](tb, "document.querySelector('.ticket.cancelled .states').textContent"); text != "You gave it back" {
		t.Errorf("the ticket says %q", text)
	}
}

// tabTo moves the focus with the Tab key until it is on the element.
func (tb *tab) tabTo(selector string) {
	tb.Helper()
	tb.until(visible(selector))
	for range 80 {
		if eval[bool](tb, fmt.Sprintf("document.activeElement === document.querySelector(%q)", selector)) {
			// Whoever uses a keyboard must see where they are.
			if !eval[bool](tb, "document.activeElement.matches(':focus-visible') && (getComputedStyle(document.activeElement).outlineStyle !== 'none' || document.activeElement.matches('.card input'))") {
				tb.Errorf("the focus on %s can't be seen", selector)
			}
			return
		}
		tb.press(kb.Tab)
	}
	tb.Fatalf("the Tab key never reaches %s", selector)
}

// TestOfficeKeyboard books without a pointer.
func TestOfficeKeyboard(t *testing.T) {
	o := startOffice(t)
	tb := open(t, o.url(), desktop())
	tb.visit("/")
	tb.tabTo(".skip")
	tb.press(kb.Enter)
	tb.tabTo("a[href='/shows/show-4']")
	tb.press(kb.Enter)
	tb.at("/shows/show-4")
	tb.tabTo("#get-seats")
	tb.press(kb.Enter)
	tb.until("document.activeElement.matches('#signin input')") // the dialog puts the focus where it is needed
	tb.press("keyboard-only", kb.Enter)
	tb.at("/events/show-4")
	tb.until("!document.querySelector('#pick-go').disabled")

	tb.tabTo("[data-seat='G-13']") // the plan is one stop, in the middle of the house
	at := func(want string) {
		t.Helper()
		if got := eval[string](tb, "document.activeElement.dataset.seat"); got != want {
			t.Fatalf("the focus is on %s, want %s", got, want)
		}
	}
	for _, step := range []struct{ key, want string }{
		{kb.ArrowRight, "G-14"}, {kb.ArrowDown, "H-14"}, {kb.ArrowLeft, "H-13"}, {kb.ArrowUp, "G-13"},
		{kb.Home, "G-1"}, {kb.ArrowLeft, "G-1"}, {kb.End, "G-25"}, {kb.PageUp, "B-25"}, {kb.PageUp, "A-25"}, {kb.PageDown, "F-25"},
	} {
		tb.press(step.key)
		at(step.want)
	}
	tb.press(" ", kb.ArrowLeft, " ", kb.ArrowLeft, " ", " ")
	tb.until("[...document.querySelectorAll('#basket b')].map(e => e.textContent).join() === 'F-24,F-25'")
	label := eval[string](tb, "document.querySelector(\"[data-seat='F-25']\").getAttribute('aria-label')")
	if label != "Row F, seat 25, ₩120,000, chosen by you" {
		t.Errorf("a screen reader hears %q", label)
	}
	tb.until("document.querySelector('#live').textContent.includes('F-23')")
	tb.press(kb.Tab)
	if eval[bool](tb, "document.activeElement.matches('.seat')") {
		t.Error("the plan takes more than one stop of the Tab key")
	}
	tb.tabTo("#hold")
	tb.press(kb.Enter)
	tb.at("/checkout/")
	tb.until(view("pay"))
	tb.tabTo(".card.approve input")
	tb.press(kb.ArrowRight)
	tb.until("document.querySelector('#card').value === '4000 0000 0000 0002'")
	tb.press(kb.ArrowLeft)
	tb.until("document.querySelector('#card').value === '4242 4242 4242 4242'")
	tb.tabTo("#pay-go")
	tb.press(kb.Enter)
	tb.until(view("done"))
	tb.until("document.activeElement.matches('[data-for=done] h1')")
	tb.tabTo("[data-for=done] a[href='/tickets']")
	tb.press(kb.Enter)
	tb.until(visible(".ticket.confirmed"))
}

// TestOfficeLanguage books in Korean after switching, and meets an error in
// Korean.
func TestOfficeLanguage(t *testing.T) {
	o := startOffice(t)
	d := phone()
	d.lang = "en-GB"
	tb := open(t, o.url(), d)
	tb.expect("409")
	tb.visit("/shows/show-5")
	if lang := eval[string](tb, "document.documentElement.lang"); lang != "en" {
		t.Errorf("a browser that wants British English gets %q", lang)
	}
	tb.click(".lang")
	tb.until("document.documentElement.lang === 'ko' && document.querySelector('#get-seats').textContent === '좌석 고르기'")
	tb.signIn("mina")
	tb.book("show-5", 2)
	tb.until("document.querySelector('#pay-go').textContent === '240,000원 결제하기'")
	tb.click("#pay-go")
	tb.until(view("done") + " && document.querySelector('[data-for=done] h1').textContent === '이제 당신의 자리예요'")
	tb.sheet("office-korean")
	tb.visit("/tickets")
	tb.until("document.querySelector('.ticket.confirmed .states')?.textContent === '예매 완료결제 완료'")

	rival := open(t, o.url(), desktop())
	rival.signIn("jun")
	tb.visit("/queue?event=show-5")
	tb.at("/events/")
	tb.click("[data-seat='A-13']")
	rival.visit("/queue?event=show-5")
	rival.at("/events/")
	rival.click("[data-seat='A-13']")
	rival.click("#hold")
	rival.at("/checkout/")
	// Either the plan or the refused hold says that the seat has gone.
	tb.until("document.querySelector('#hold').disabled || (document.querySelector('#hold').click(), true)")
	tb.until(visible("#problem"))
	if text := eval[string](tb, "document.querySelector('#problem').textContent"); !strings.Contains(text, "A-13") || !strings.ContainsAny(text, "가요잡늦") {
		t.Errorf("about the seat that has gone the page says %q", text)
	}
}

// TestOfficeSurvivesKill kills the box office with signal 9 while the bank
// thinks, reloads the page while there is no server, and starts it again on the
// same data.
func TestOfficeSurvivesKill(t *testing.T) {
	o := startOffice(t)
	tb := open(t, o.url(), desktop())
	tb.expect("ERR_")
	tb.signIn("mina")
	tb.until("navigator.serviceWorker.controller !== null && navigator.serviceWorker.controller.state === 'activated'")
	tb.book("show-1", 2)
	tb.click(".card.slow input")
	tb.click("#pay-go")
	tb.until(view("processing") + " && Object.values(sessionStorage).some(v => v.includes('paymentId'))")
	o.process.Kill()
	tb.until(visible("#banner"))
	tb.shot("office-killed")
	_ = chromedp.Do(tb.ctx, chromedp.Reload()) // the navigation counts as failed when it is the worker that answers
	tb.until(visible("#offline"))
	tb.shot("office-killed-reloaded")
	o.start()
	tb.until(view("processing") + " || " + view("done"))
	tb.until(view("done"))

	tb.visit("/ops")
	tb.fill("#token", o.Admin)
	tb.press(kb.Enter)
	tb.until(visible("#board") + " && document.querySelector('#verdict').dataset.ok === 'yes' && document.querySelectorAll('#consumers tr').length > 5")
	tb.until("document.querySelector('#backlog').textContent === '0'")
	sound(tb, "operator page")
	tb.sheet("office-ops")
	if charged := eval[string](tb, "[...document.querySelectorAll('#gateway div')].map(e => e.innerText.replace(/\\s+/g, '=')).join(' ')"); !strings.Contains(charged, "ledger.") {
		t.Errorf("the operator page shows nothing of the gateway's ledger: %s", charged)
	}
}
