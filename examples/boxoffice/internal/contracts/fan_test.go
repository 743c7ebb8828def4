package contracts_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

// fan is a member of the walk.
type fan struct {
	w      *walker
	t      *testing.T
	member string
	token  string
	entry  map[string]string // entry tokens by show
}

func (w *walker) fan(t *testing.T, member string, shows ...string) *fan {
	t.Helper()
	f := &fan{w: w, t: t, member: member, entry: map[string]string{}}
	var session struct{ Token string }
	f.do(call{method: "POST", path: "/api/login", body: map[string]string{"memberId": member}, status: 200, into: &session})
	f.token = session.Token
	for _, show := range shows {
		f.enter(show)
	}
	return f
}

// enter lets a fan into the room of a show.
func (f *fan) enter(show string) {
	f.t.Helper()
	var place struct{ EntryToken string }
	f.do(call{method: "POST", path: "/api/queue/check/" + show, status: 200, into: &place})
	f.entry[show] = place.EntryToken
}

// do makes a call as the fan, unless the call has a token of its own.
func (f *fan) do(c call) reply {
	f.t.Helper()
	if c.token == "" {
		c.token = f.token
	}
	return f.w.do(f.t, c)
}

// in makes a call with the entry token of a show.
func (f *fan) in(show string, c call) reply {
	f.t.Helper()
	c.header = with(c.header, "x-queue-entry-token", f.entry[show])
	return f.do(c)
}

func with(header map[string]string, name, value string) map[string]string {
	all := map[string]string{name: value}
	for n, v := range header {
		all[n] = v
	}
	return all
}

type ticket struct {
	ReservationID, Status, PaymentID string
	Amount                           int64
}

func (f *fan) hold(show string, seats ...string) (held ticket) {
	f.t.Helper()
	f.in(show, call{method: "POST", path: "/api/seats/reserve", body: map[string]any{"eventId": show, "seatIds": seats}, status: 201, into: &held})
	return held
}

// pay sends a payment with the key that goes with the reservation.
func (f *fan) pay(held ticket, card string) (id string) {
	f.t.Helper()
	var p struct{ PaymentID string }
	f.do(payment("key-"+held.ReservationID, held, card, 202, "", &p))
	return p.PaymentID
}

func payment(key string, held ticket, card string, status int, problem string, into any) call {
	return call{
		method: "POST", path: "/api/payments", header: map[string]string{"Idempotency-Key": key},
		body:   map[string]any{"reservationId": held.ReservationID, "amount": held.Amount, "card": card},
		status: status, problem: problem, into: into,
	}
}

func transfer(key string, held ticket, to, card string, status int, problem string, into any) call {
	return call{
		method: "POST", path: "/api/transfers", header: map[string]string{"Idempotency-Key": key},
		body:   map[string]any{"reservationId": held.ReservationID, "toMemberId": to, "amount": held.Amount, "card": card},
		status: status, problem: problem, into: into,
	}
}

// until waits until a ticket has a status.
func (f *fan) until(id, status string) {
	f.t.Helper()
	var seen string
	boxtest.WaitFor(f.t, "the ticket "+id+" to be "+status, func() bool {
		var all struct{ Tickets []ticket }
		f.do(call{method: "GET", path: "/api/me/tickets", status: 200, into: &all})
		for _, t := range all.Tickets {
			if t.ReservationID == id {
				seen = t.Status
			}
		}
		return seen == status
	}, func() string { return seen })
}

// paid waits until a payment has a status.
func (f *fan) paid(id, status string) {
	f.t.Helper()
	var p struct{ Status string }
	boxtest.WaitFor(f.t, "the payment "+id+" to be "+status, func() bool {
		f.do(call{method: "GET", path: "/api/payments/" + id, status: 200, into: &p})
		return p.Status == status
	}, func() string { return fmt.Sprint(p) })
}

// buy holds seats, pays for them and waits until they are the fan's.
func (f *fan) buy(show string, seats ...string) ticket {
	f.t.Helper()
	held := f.hold(show, seats...)
	held.PaymentID = f.pay(held, boxtest.Approve)
	f.until(held.ReservationID, "CONFIRMED")
	return held
}

// read answers a page of the site, as a browser asks for it.
func (w *walker) read(t *testing.T, path string, status int) reply {
	t.Helper()
	return w.do(t, call{method: http.MethodGet, path: path, status: status})
}
