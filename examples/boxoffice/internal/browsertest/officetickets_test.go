package browsertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

// guest is a member that uses the API of an office.
type guest struct {
	o             *office
	member, token string
}

func (o *office) guest(member string) guest {
	o.t.Helper()
	g := guest{o: o, member: member}
	var login struct{ Token string }
	g.call("POST", "/api/login", "", map[string]string{"memberId": member}, &login)
	g.token = login.Token
	return g
}

func (g guest) call(method, path, key string, body, into any, header ...string) {
	g.o.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		g.o.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(g.o.t.Context(), method, g.o.url()+path, bytes.NewReader(text))
	if err != nil {
		g.o.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+g.token)
	r.Header.Set("Idempotency-Key", key)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		g.o.t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	var answer json.RawMessage
	if err := json.NewDecoder(res.Body).Decode(&answer); res.StatusCode >= 300 || err != nil {
		g.o.t.Fatalf("%s %s: %s %s %v", method, path, res.Status, answer, err)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			g.o.t.Fatal(err)
		}
	}
}

// book books seats and waits for the tickets.
func (g guest) book(event string, seats ...string) (reservation string) {
	g.o.t.Helper()
	var place struct{ EntryToken string }
	boxtest.WaitFor(g.o.t, g.member+" to be let in", func() bool {
		g.call("POST", "/api/queue/check/"+event, "", nil, &place)
		return place.EntryToken != ""
	})
	var held struct {
		ReservationID string
		Amount        int64
	}
	g.call("POST", "/api/seats/reserve", "", map[string]any{"eventId": event, "seatIds": seats}, &held, "x-queue-entry-token", place.EntryToken)
	g.call("POST", "/api/payments", held.ReservationID, map[string]any{"reservationId": held.ReservationID, "amount": held.Amount, "card": boxtest.Approve}, nil)
	boxtest.WaitFor(g.o.t, "the ticket of "+g.member, func() bool {
		var mine struct {
			Tickets []struct{ ReservationID, Status string }
		}
		g.call("GET", "/api/me/tickets", "", nil, &mine)
		for _, t := range mine.Tickets {
			if t.ReservationID == held.ReservationID {
				return t.Status == "CONFIRMED"
			}
		}
		return false
	})
	return held.ReservationID
}

// verdict is an expression: the result of a scan on the door's page.
func verdict(status string) string {
	return fmt.Sprintf("document.querySelector('[data-verdict]')?.dataset.verdict === %q", status)
}

// as signs a tab in without the pages for it.
func (tb *tab) as(g guest, path string) {
	tb.Helper()
	tb.visit("/login")
	tb.until(visible("#login"))
	eval[bool](tb, fmt.Sprintf(`(localStorage.setItem("boxoffice.session", JSON.stringify({ token: %q, memberId: %q, expiresAt: new Date(Date.now() + 36e5).toISOString() })), true)`, g.token, g.member))
	tb.visit(path)
}

// openCode opens the first ticket's codes by the keyboard, and the code as text.
func (tb *tab) openCode() (code string) {
	tb.Helper()
	tb.tabTo(".ticket.confirmed .codes > summary")
	tb.press(kb.Enter)
	tb.until(visible(".codes .qr path"))
	tb.tabTo(".codes li summary")
	tb.press(kb.Enter)
	tb.until(visible(".codes li code"))
	return eval[string](tb, "document.querySelector('.codes li code').textContent")
}

// TestOfficeTransferAndScanByKeyboard transfers a ticket, accepts it and scans it,
// without a pointer.
func TestOfficeTransferAndScanByKeyboard(t *testing.T) {
	o := startOffice(t)
	ann, bob := o.guest("ann"), o.guest("bob")
	reservation := ann.book("show-1", "A-1")

	sender := open(t, o.url(), desktop())
	sender.as(ann, "/tickets")
	old := sender.openCode()
	if alt := eval[string](sender, "document.querySelector('.codes .qr').getAttribute('aria-label')"); !strings.Contains(alt, "QR code") || !strings.Contains(alt, "seat A-1") {
		t.Errorf("the picture says %q", alt)
	}
	sender.tabTo(".ticket.confirmed .actions a")
	sender.press(kb.Enter)
	sender.at("/transfers")
	sender.until(fmt.Sprintf("document.querySelector('#ticket').value === %q && document.activeElement.id === 'to'", reservation))
	sender.press("ann", kb.Enter) // herself
	sender.until(visible("#offer-problem") + " && document.activeElement.id === 'to'")
	sender.fill("#to", "bob")
	sender.press(kb.Enter)
	sender.until("document.querySelector('#sent [data-state=OFFERED]') && document.activeElement.id === 'sent-title'")
	sender.until(visible("#nothing"))

	receiver := open(t, o.url(), desktop())
	receiver.as(bob, "/transfers")
	receiver.tabTo("#received .actions button")
	if said := eval[string](receiver, "document.activeElement.getAttribute('aria-label')"); !strings.HasPrefix(said, "Accept ") || !strings.Contains(said, "A-1") || !strings.Contains(said, "ann") {
		t.Errorf("a screen reader hears %q", said)
	}
	receiver.press(kb.Enter)
	receiver.until("document.activeElement.id === 'received-title'")
	receiver.until("document.querySelector('#past [data-state=COMPLETED]')")
	sender.until("document.querySelector('#past [data-state=COMPLETED]')")
	receiver.until("document.querySelector('#bell-count')?.textContent === '2'") // offered, and done
	receiver.visit("/tickets")
	fresh := receiver.openCode()

	door := open(t, o.url(), desktop())
	door.Expect("status of 403", "status of 422")
	door.visit("/scan")
	door.tabTo("#token")
	door.press("no-token", kb.Enter)
	door.until(visible("#token-problem"))
	door.fill("#token", o.Admin)
	door.press(kb.Enter)
	door.until(visible("#board") + " && document.activeElement.id === 'code'")
	// The first answer after the scan that counts tells of an error of the office.
	eval[bool](door, fmt.Sprintf(`(() => {
		const real = fetch;
		globalThis.fetch = async (...call) => {
			const answer = await real(...call);
			if (!String(call[1].body).includes(%q)) return answer;
			globalThis.fetch = real;
			return new Response("{}", { status: 500 });
		};
		return true;
	})()`, fresh))
	for _, scan := range []struct{ code, want string }{
		{old, "TRANSFERRED"}, {fresh, "REFUSED"}, {fresh, "VALID"}, {fresh, "USED"}, {"hello", "REFUSED"},
	} {
		door.fill("#code", scan.code)
		door.press(kb.Enter)
		door.until(verdict(scan.want) + " && document.activeElement.id === 'code'")
	}
	door.tabTo("#show")
	door.press(kb.ArrowDown)
	door.fill("#code", fresh)
	door.press(kb.Enter)
	door.until(verdict("OTHER_SHOW"))
	assert.Equal(t, 6, eval[int](door, "document.querySelectorAll('#history li').length"), "scans are listed")

	receiver.visit("/tickets")
	receiver.openCode()
	receiver.until("document.querySelector('.codes li.used .state') && !document.querySelector('.ticket .actions')")

	// The office is gone: the door's page verifies by the public keys, and names the facts
	// that it cannot check.
	door.tabTo("#show")
	door.press(kb.ArrowUp)
	door.Expect("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
	for _, tb := range []*tab{sender, receiver} {
		tb.Expect("ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
	}
	o.process.Kill()
	for _, scan := range []struct{ code, want string }{
		{fresh, "GENUINE"}, {fresh[:len(fresh)-8] + "AAAAAAAA", "REFUSED"},
	} {
		door.fill("#code", scan.code)
		door.press(kb.Enter)
		door.until(verdict(scan.want))
	}
}

// TestOfficeTicketsLook takes pictures of the pages, and checks each with axe.
func TestOfficeTicketsLook(t *testing.T) {
	o := startOffice(t)
	ann, bob := o.guest("ann"), o.guest("bob")
	ann.book("show-1", "B-1", "B-2")
	handed, code := ann.book("show-2", "A-1"), ""
	offer := func(reservation, key, to string, amount int64) {
		t.Helper()
		ann.call("POST", "/api/transfers", key, map[string]any{"reservationId": reservation, "toMemberId": to, "amount": amount, "card": boxtest.Approve}, nil)
	}
	offer(handed, "offer-1", "bob", 150_000)
	offer(ann.book("show-3", "A-2"), "offer-2", "cid", 150_000)
	offer(bob.passTo(ann, "show-4"), "offer-3", "dan", 150_000)
	var codes struct{ Codes []struct{ Code string } }
	used := ann.book("show-1", "C-1")
	ann.call("GET", "/api/me/tickets/"+used+"/codes", "", nil, &codes)
	code = codes.Codes[0].Code
	each(t, func(t *testing.T, d device, name string) {
		tb := open(t, o.url(), d)
		tb.Expect("status of 422")
		take := func(what string) {
			t.Helper()
			tb.until(calm)
			sound(tb, what)
			tb.axe("body")
			tb.sheet("tickets-" + name + "-" + what)
		}
		tb.as(ann, "/tickets")
		tb.click("[data-reservation='" + ann.first(o) + "'] .codes > summary")
		tb.until(visible(".codes .qr path"))
		take("codes")
		tb.visit("/transfers")
		tb.until("document.querySelectorAll('#sent li').length > 1 && " + visible("#offer"))
		take("transfers-sent")
		tb.as(bob, "/transfers")
		tb.until("document.querySelectorAll('#received li').length > 0")
		take("transfers-received")
		tb.as(o.guest("fan-of-"+name), "/memberships")
		tb.until(visible("#buy"))
		take("membership-none")
		tb.click("#buy [type=submit]")
		tb.until("document.querySelector('#pass').dataset.state === 'ACTIVE' && document.querySelector('#past [data-state=ACTIVE]')")
		take("membership")
		tb.visit("/transfers")
		tb.until(visible("#nothing"))
		take("transfers-nothing")
		tb.visit("/scan")
		take("scan-token")
		tb.fill("#token", o.Admin)
		tb.click("#token-form [type=submit]")
		tb.until(visible("#board"))
		for i, scan := range []struct{ code, what string }{{code, "scan"}, {code, "scan-used"}, {"hello", "scan-refused"}} {
			tb.fill("#code", scan.code)
			tb.click("#scan [type=submit]")
			tb.until(fmt.Sprintf("document.querySelectorAll('#history li').length === %d", i+1))
			take(scan.what)
		}
	})
}

// first is the newest of the member's reservations.
func (g guest) first(o *office) string {
	o.t.Helper()
	var mine struct {
		Tickets []struct{ ReservationID string }
	}
	g.call("GET", "/api/me/tickets", "", nil, &mine)
	return mine.Tickets[0].ReservationID
}

// passTo books a seat for another member: it is transferred, and accepted.
func (g guest) passTo(to guest, event string) string {
	g.o.t.Helper()
	id := g.book(event, "A-3")
	var offered struct{ TransferID string }
	g.call("POST", "/api/transfers", "pass-"+id, map[string]any{"reservationId": id, "toMemberId": to.member, "amount": 150_000, "card": boxtest.Approve}, &offered)
	to.call("POST", "/api/transfers/"+offered.TransferID+"/accept", "", nil, nil)
	boxtest.WaitFor(g.o.t, "the transfer", func() bool {
		var mine struct {
			Transfers []struct{ TransferID, Status string }
		}
		g.call("GET", "/api/me/transfers", "", nil, &mine)
		return mine.Transfers[0].Status == "COMPLETED"
	})
	return id
}
