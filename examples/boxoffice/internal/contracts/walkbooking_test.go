package contracts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

// waitFor repeats a call until its answer is the wanted one.
func waitFor(t *testing.T, w *walker, c call, until func() bool) {
	t.Helper()
	boxtest.WaitFor(t, c.method+" "+c.path, func() bool {
		w.do(t, c)
		return t.Failed() || until()
	})
}

// walkBooking looks at shows and seats, holds some, and gives them back.
func walkBooking(t *testing.T, w *walker) {
	w.read(t, "/api/shows", 200)
	w.read(t, "/api/shows/show-1", 200)
	w.do(t, call{method: "POST", path: "/api/shows/show-1/view", status: 202})
	ann, bob := w.fan(t, "booking-ann", "show-1"), w.fan(t, "booking-bob", "show-1")
	ann.do(call{method: "POST", path: "/api/shows/show-1/view", status: 202})
	ann.in("show-1", call{method: "GET", path: "/api/seats/show-1", status: 200})
	ann.do(call{method: "GET", path: "/api/seats/show-1", header: map[string]string{"Cookie": "urr-entry-token-show-1=" + ann.entry["show-1"]}, status: 200})

	reserve := func(body string, status int, problem string, broken bool) {
		t.Helper()
		ann.in("show-1", call{method: "POST", path: "/api/seats/reserve", body: body, status: status, problem: problem, broken: broken})
	}
	held := ann.hold("show-1", "A-1", "A-2")
	reserve(`{"eventId":"show-1","seatIds":["A-1","A-3"]}`, 409, "seat-taken", false)
	reserve(`{"eventId":"show-1","seatIds":["Z-9"]}`, 404, "seat-not-found", false)
	reserve(`{"eventId":"show-1","seatIds":["D-1","D-2","D-3","D-4","D-5"]}`, 409, "seat-limit", false)
	ann.do(call{method: "GET", path: "/api/shows/show-1/allowance", status: 200})
	ann.do(call{method: "GET", path: "/api/shows/show-9/allowance", status: 404, problem: "show-not-found"})
	for _, bad := range []string{
		`{"seatIds":["A-3"]}`, `{"eventId":"show-1","seatIds":[]}`, `{"eventId":"show-1","seatIds":["A-3","A-3"]}`, `{"eventId":"a/b","seatIds":["A-3"]}`,
		`{"eventId":"show-1","seatIds":"A-3"}`, `{"eventId":"show-1","seatIds":["A-3"],"more":1}`, `{`, `[]`,
	} {
		reserve(bad, 400, "invalid-request", true)
	}
	of := "/api/reservations/" + held.ReservationID
	ann.in("show-1", call{method: "GET", path: of, status: 200})
	bob.in("show-1", call{method: "GET", path: of, status: 404, problem: "reservation-not-found"})
	bob.in("show-1", call{method: "DELETE", path: of, status: 404, problem: "reservation-not-found"})
	bob.do(call{method: "DELETE", path: "/api/me/tickets/" + held.ReservationID, status: 404, problem: "reservation-not-found"})
	ann.in("show-1", call{method: "DELETE", path: of, status: 200})
	ann.do(call{method: "GET", path: "/api/me/tickets", status: 200})
	other := ann.hold("show-1", "A-3")
	ann.do(call{method: "DELETE", path: "/api/me/tickets/" + other.ReservationID, status: 200})

	// All of it is refused to members that are not inside.
	reserveA4 := map[string]any{"eventId": "show-1", "seatIds": []string{"A-4"}}
	for _, c := range []call{
		{method: "GET", path: "/api/seats/show-1"}, {method: "POST", path: "/api/seats/reserve", body: reserveA4}, {method: "GET", path: of}, {method: "DELETE", path: of},
	} {
		c.status, c.broken = 403, true
		ann.do(c) // without a token
		c.broken = false
		for _, token := range []string{"x", bob.entry["show-1"], ann.token, ann.entry["show-1"] + "x"} {
			c.header = map[string]string{"x-queue-entry-token": token}
			ann.do(c)
		}
	}
	bob.do(call{method: "POST", path: "/api/queue/leave/show-1", status: 204})
	bob.in("show-1", call{method: "POST", path: "/api/seats/reserve", body: reserveA4, status: 403})
}

// walkPayments pays, is declined, pays twice and is refunded.
func walkPayments(t *testing.T, w *walker) {
	ann, bob := w.fan(t, "paying-ann", "show-1"), w.fan(t, "paying-bob", "show-1")
	held := ann.hold("show-1", "B-1")
	for key, problem := range map[string]string{"": "key-missing", "a b": "key-invalid"} {
		for _, path := range []string{"/api/payments", "/api/transfers", "/api/memberships"} {
			body := map[string]any{"amount": 30000, "card": boxtest.Approve}
			if path != "/api/memberships" {
				body["reservationId"] = held.ReservationID
			}
			if path == "/api/transfers" {
				body["toMemberId"] = "paying-bob"
			}
			c := call{method: "POST", path: path, body: body, status: 400, problem: problem, broken: true}
			if key != "" {
				c.header = map[string]string{"Idempotency-Key": key}
			}
			ann.do(c)
		}
	}
	wrong := held
	wrong.Amount++
	ann.do(payment("p-1", wrong, boxtest.Approve, 422, "wrong-amount", nil))
	ann.do(payment("p-2", held, "4111111111111111", 422, "unknown-card", nil))
	ann.do(payment("p-3", ticket{ReservationID: "x", Amount: 1}, boxtest.Approve, 404, "reservation-not-found", nil))
	for _, bad := range []string{`{"reservationId":"x","amount":0,"card":"4"}`, `{"amount":1,"card":"4"}`, `{"reservationId":"x","amount":1.5,"card":"4"}`, `{"reservationId":"x","amount":1}`} {
		ann.do(call{method: "POST", path: "/api/payments", header: map[string]string{"Idempotency-Key": "p-4"}, body: bad, status: 400, problem: "invalid-request", broken: true})
	}
	id := ann.pay(held, boxtest.Approve)
	ann.do(payment("key-"+held.ReservationID, held, boxtest.Decline, 422, "key-reused", nil))
	ann.do(payment("p-5", held, boxtest.Approve, 409, "already-paid", nil))
	ann.until(held.ReservationID, "CONFIRMED")
	bob.do(call{method: "GET", path: "/api/payments/" + id, status: 404, problem: "payment-not-found"})
	bob.do(call{method: "POST", path: "/api/payments/" + id + "/refund", status: 404, problem: "payment-not-found"})
	ann.do(call{method: "POST", path: "/api/payments/" + id + "/refund", status: 202})
	ann.paid(id, "REFUNDED")
	ann.until(held.ReservationID, "CANCELLED")

	declined := ann.hold("show-1", "B-2")
	ann.paid(ann.pay(declined, boxtest.Decline), "FAILED")
	ended := ann.hold("show-1", "B-3")
	ann.do(call{method: "DELETE", path: "/api/me/tickets/" + ended.ReservationID, status: 200})
	ann.do(payment("p-6", ended, boxtest.Approve, 409, "hold-ended", nil))

	back, guarded := ann.buy("show-1", "B-4"), ann.buy("show-1", "B-5")
	ann.do(call{method: "DELETE", path: "/api/me/tickets/" + back.ReservationID, status: 202})
	ann.in("show-1", call{method: "DELETE", path: "/api/reservations/" + guarded.ReservationID, status: 202})
	ann.until(back.ReservationID, "CANCELLED")
	ann.until(guarded.ReservationID, "CANCELLED")

	late := ann.hold("show-1", "B-6")
	slow := ann.pay(late, boxtest.Timeout)
	ann.do(call{method: "DELETE", path: "/api/me/tickets/" + late.ReservationID, status: 200})
	ann.paid(slow, "REFUNDED")
}

// walkTransfers transfers tickets and becomes a member of the house.
func walkTransfers(t *testing.T, w *walker) {
	ann, bob := w.fan(t, "handing-ann", "show-1"), w.fan(t, "handing-bob", "show-1")
	pending := ann.hold("show-1", "C-1")
	ann.do(transfer("t-1", pending, "handing-bob", boxtest.Approve, 409, "not-confirmed", nil))
	ann.do(transfer("t-2", ticket{ReservationID: "x", Amount: 1}, "handing-bob", boxtest.Approve, 404, "reservation-not-found", nil))
	mine := ann.buy("show-1", "C-2")
	ann.do(transfer("t-3", mine, "handing-ann", boxtest.Approve, 422, "self-transfer", nil))
	ann.do(transfer("t-4", mine, "handing-bob", "4111111111111111", 422, "unknown-card", nil))
	wrong := mine
	wrong.Amount++
	ann.do(transfer("t-5", wrong, "handing-bob", boxtest.Approve, 422, "wrong-amount", nil))
	ann.do(call{method: "POST", path: "/api/transfers", header: map[string]string{"Idempotency-Key": "t-6"}, body: `{"reservationId":"x","toMemberId":"a b","amount":1,"card":"4"}`, status: 400, problem: "invalid-request", broken: true})
	var p struct{ PaymentID, TransferID string }
	decide := func(f *fan, what string, status int, problem string) {
		t.Helper()
		f.do(call{method: "POST", path: "/api/transfers/" + p.TransferID + "/" + what, status: status, problem: problem})
	}
	p.TransferID = "nothing"
	for _, what := range []string{"accept", "decline", "withdraw"} {
		decide(ann, what, 404, "transfer-not-found")
	}
	ends := map[string]*fan{"decline": bob, "withdraw": ann}
	for what, by := range ends {
		ann.do(transfer("t-"+what, mine, "handing-bob", boxtest.Approve, 202, "", &p))
		decide(by, what, 200, "")
		decide(bob, "accept", 409, "transfer-decided")
		for other, of := range ends {
			if other != what {
				decide(of, other, 409, "transfer-decided")
			}
		}
	}
	ann.do(transfer("t-7", mine, "handing-bob", boxtest.Timeout, 202, "", &p)) // takes a while
	ann.do(transfer("t-7", mine, "handing-bob", boxtest.Approve, 422, "key-reused", nil))
	ann.do(transfer("t-8", mine, "handing-bob", boxtest.Approve, 409, "transfer-in-progress", nil))
	decide(bob, "accept", 200, "")
	bob.until(mine.ReservationID, "CONFIRMED")
	bob.do(call{method: "GET", path: "/api/me/transfers", status: 200})
	ann.do(call{method: "GET", path: "/api/payments/" + p.PaymentID, status: 200})
	// A transferred ticket is its receiver's, and has no payment to refund.
	bob.do(call{method: "DELETE", path: "/api/me/tickets/" + mine.ReservationID, status: 409, problem: "transferred"})
	bob.in("show-1", call{method: "DELETE", path: "/api/reservations/" + mine.ReservationID, status: 409, problem: "transferred"})
	ann.do(call{method: "POST", path: "/api/payments/" + mine.PaymentID + "/refund", status: 409, problem: "transferred"})
	// A failed payment transfers nothing.
	kept := ann.buy("show-1", "C-3")
	ann.do(transfer("t-9", kept, "handing-bob", boxtest.Decline, 202, "", &p))
	decide(bob, "accept", 200, "")
	ann.paid(p.PaymentID, "FAILED")
	ann.do(call{method: "POST", path: "/api/payments/" + p.PaymentID + "/refund", status: 409, problem: "not-refundable"})

	member := func(key string, amount int, card string, status int, problem string) {
		t.Helper()
		ann.do(call{
			method: "POST", path: "/api/memberships", header: map[string]string{"Idempotency-Key": key},
			body: map[string]any{"amount": amount, "card": card}, status: status, problem: problem, into: &p, broken: status == 400,
		})
	}
	member("m-1", 1, boxtest.Approve, 422, "wrong-amount")
	member("m-2", 30000, "1", 422, "unknown-card")
	member("m-3", 0, boxtest.Approve, 400, "invalid-request")
	member("m-4", 30000, boxtest.Approve, 202, "")
	ann.paid(p.PaymentID, "SUCCESS")
	ann.do(call{method: "GET", path: "/api/me/memberships", status: 200})
	member("m-4", 30000, boxtest.Decline, 422, "key-reused")
}

// walkDoor scans tickets.
func walkDoor(t *testing.T, w *walker, admin string) {
	ann := w.fan(t, "entering-ann", "show-1")
	ann.do(call{method: "GET", path: "/api/me/tickets/nothing/codes", status: 404, problem: "reservation-not-found"})
	held := ann.hold("show-1", "Q-1")
	ann.do(call{method: "GET", path: "/api/me/tickets/" + held.ReservationID + "/codes", status: 409, problem: "no-ticket"})
	mine := ann.buy("show-1", "Q-2", "Q-3")
	var all struct{ Codes []struct{ Code string } }
	ann.do(call{method: "GET", path: "/api/me/tickets/" + mine.ReservationID + "/codes", status: 200, into: &all})
	w.do(t, call{method: "GET", path: "/api/tickets/keys", status: 200})

	// On offer while it is used, which ends the offer.
	var p struct{ TransferID string }
	ann.do(transfer("d-1", mine, "entering-bob", boxtest.Approve, 202, "", &p))
	scan := func(key, show, code string, status int, problem string) {
		t.Helper()
		c := call{method: "POST", path: "/api/admin/scan", token: admin, body: map[string]any{"eventId": show, "code": code}, status: status, problem: problem, broken: status == 400}
		if key != "" {
			c.header = map[string]string{"Idempotency-Key": key}
		}
		w.do(t, c)
	}
	code := all.Codes[0].Code
	scan("s-1", "show-2", code, 200, "")
	scan("s-2", "show-1", code, 200, "")
	scan("s-3", "show-1", code, 200, "")
	scan("s-4", "show-1", "hello", 422, "code-refused")
	scan("s-5", "show-1", "", 400, "invalid-request")
	scan("s-6", "show-9", code, 404, "show-not-found")
	scan("", "show-1", code, 400, "key-missing")
	scan("a b", "show-1", code, 400, "key-invalid")
	bob := w.fan(t, "entering-bob")
	bob.do(call{method: "POST", path: "/api/transfers/" + p.TransferID + "/accept", status: 409, problem: "ticket-used"})
	ann.do(transfer("d-2", mine, "entering-bob", boxtest.Approve, 409, "ticket-used", nil))
	ann.do(call{method: "DELETE", path: "/api/me/tickets/" + mine.ReservationID, status: 409, problem: "ticket-used"})
	ann.in("show-1", call{method: "DELETE", path: "/api/reservations/" + mine.ReservationID, status: 409, problem: "ticket-used"})
	ann.do(call{method: "POST", path: "/api/payments/" + mine.PaymentID + "/refund", status: 409, problem: "ticket-used"})
}

// walkSoldOut sells every seat of a show.
func walkSoldOut(t *testing.T, w *walker) {
	const show = "show-5"
	for row := range 20 {
		for from := 1; from <= 25; from += 5 {
			var seats []string
			for n := from; n < from+5; n++ {
				seats = append(seats, fmt.Sprintf("%c-%d", 'A'+row, n))
			}
			buyer := w.fan(t, fmt.Sprintf("buying-%c-%d", 'a'+row, from), show)
			buyer.pay(buyer.hold(show, seats...), boxtest.Approve)
			buyer.do(call{method: "POST", path: "/api/queue/leave/" + show, status: 204})
		}
	}
	var sold struct{ Seats struct{ Sold int } }
	waitFor(t, w, call{method: "GET", path: "/api/shows/" + show, status: 200, into: &sold}, func() bool { return sold.Seats.Sold == 500 })
	boxtest.WaitFor(t, "the room to know that it is sold out", func() bool {
		r := w.fan(t, "buying-bob")
		got := r.do(call{method: "POST", path: "/api/queue/check/" + show})
		return t.Failed() || strings.Contains(string(got.text), "sold-out")
	})
}
