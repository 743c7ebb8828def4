package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

func TestBadInput(t *testing.T) {
	o := newOffice(t, nil)
	ann, entry := o.member("ann", "show-1")
	bob, _ := o.member("bob", "show-1")
	held := o.hold(ann, entry, "A-1")
	over := o.hold(ann, entry, "A-2")
	o.box.Expire(t, over)
	reserve := func(body any) call {
		return call{method: "POST", path: "/api/seats/reserve", token: ann, entry: entry, body: body}
	}
	pay := func(body any) call {
		return call{method: "POST", path: "/api/payments", token: ann, key: "k", body: body}
	}
	for name, c := range map[string]struct {
		call
		status int
		typ    string
		holds  string // in the detail, or in the members
	}{
		"login: not JSON":            {call{method: "POST", path: "/api/login", body: `{"memberId":`}, 400, "invalid-request", "middle"},
		"login: broken JSON":         {call{method: "POST", path: "/api/login", body: `{memberId: 1}`}, 400, "invalid-request", "byte"},
		"login: empty":               {call{method: "POST", path: "/api/login", body: ``}, 400, "invalid-request", "empty"},
		"login: two values":          {call{method: "POST", path: "/api/login", body: `{"memberId":"a"}{}`}, 400, "invalid-request", "more than one"},
		"login: an array":            {call{method: "POST", path: "/api/login", body: `[]`}, 400, "invalid-request", "object"},
		"login: missing field":       {call{method: "POST", path: "/api/login", body: `{}`}, 400, "invalid-request", `"field":"memberId"`},
		"login: unknown field":       {call{method: "POST", path: "/api/login", body: `{"memberId":"a","admin":true}`}, 400, "invalid-request", `"field":"admin"`},
		"login: wrong type":          {call{method: "POST", path: "/api/login", body: `{"memberId":7}`}, 400, "invalid-request", `"field":"memberId"`},
		"login: odd member":          {call{method: "POST", path: "/api/login", body: `{"memberId":"a b"}`}, 400, "invalid-request", "letters"},
		"unknown route":              {call{method: "GET", path: "/api/nothing"}, 404, "not-found", "/api/nothing"},
		"wrong method":               {call{method: "PUT", path: "/api/payments"}, 405, "method-not-allowed", "POST"},
		"unknown show":               {call{method: "GET", path: "/api/shows/show-9"}, 404, "show-not-found", "GET /api/shows"},
		"queue of an unknown show":   {call{method: "POST", path: "/api/queue/check/show-9", token: ann}, 404, "show-not-found", ""},
		"seats of an unknown show":   {call{method: "GET", path: "/api/seats/show-9", token: ann, entry: entry}, 404, "show-not-found", ""},
		"reserve: unknown show":      {reserve(`{"eventId":"show-9","seatIds":["A-1"]}`), 404, "show-not-found", ""},
		"reserve: no event":          {reserve(`{"seatIds":["A-1"]}`), 400, "invalid-request", `"field":"eventId"`},
		"reserve: odd event":         {reserve(`{"eventId":"../x","seatIds":["A-1"]}`), 400, "invalid-request", `"field":"eventId"`},
		"reserve: no seats":          {reserve(`{"eventId":"show-1","seatIds":[]}`), 400, "invalid-request", `"field":"seatIds"`},
		"reserve: seats as text":     {reserve(`{"eventId":"show-1","seatIds":"A-3"}`), 400, "invalid-request", "array"},
		"reserve: eleven seats":      {reserve(map[string]any{"eventId": "show-1", "seatIds": strings.Split("B-1 B-2 B-3 B-4 B-5 B-6 B-7 B-8 B-9 B-10 B-11", " ")}), 400, "invalid-request", "1 to 10"},
		"reserve: odd seat":          {reserve(`{"eventId":"show-1","seatIds":["A-3\u0000"]}`), 400, "invalid-request", `"field":"seatIds"`},
		"reserve: a seat twice":      {reserve(`{"eventId":"show-1","seatIds":["A-3","A-3"]}`), 400, "invalid-request", "twice"},
		"reserve: unknown seat":      {reserve(`{"eventId":"show-1","seatIds":["A-3","Z-1"]}`), 404, "seat-not-found", `"seats":["Z-1"]`},
		"reserve: taken":             {reserve(`{"eventId":"show-1","seatIds":["A-3","A-1"]}`), 409, "seat-taken", `"seats":["A-1"]`},
		"reservation: unknown":       {call{method: "GET", path: "/api/reservations/x", token: ann, entry: entry}, 404, "reservation-not-found", ""},
		"reservation: another's":     {call{method: "GET", path: "/api/reservations/" + held, token: bob, entry: entry}, 404, "reservation-not-found", ""},
		"cancel: another's":          {call{method: "DELETE", path: "/api/me/tickets/" + held, token: bob}, 404, "reservation-not-found", ""},
		"pay: wrong amount":          {pay(map[string]any{"reservationId": held, "amount": 1, "card": boxtest.Approve}), 422, "wrong-amount", `"expected":150000`},
		"pay: no amount":             {pay(map[string]any{"reservationId": held, "card": boxtest.Approve}), 400, "invalid-request", "amount"},
		"pay: half a won":            {pay(`{"reservationId":"x","amount":1.5,"card":"x"}`), 400, "invalid-request", "whole number"},
		"pay: negative":              {pay(map[string]any{"reservationId": held, "amount": -1, "card": boxtest.Approve}), 400, "invalid-request", "positive"},
		"pay: no card":               {pay(map[string]any{"reservationId": held, "amount": 150000}), 400, "invalid-request", "card"},
		"pay: a real card":           {pay(map[string]any{"reservationId": held, "amount": 150000, "card": "4111111111111111"}), 422, "unknown-card", "never enter a real card"},
		"pay: no reservation":        {pay(map[string]any{"amount": 150000, "card": boxtest.Approve}), 400, "invalid-request", "reservationId"},
		"pay: unknown reservation":   {pay(map[string]any{"reservationId": "x", "amount": 150000, "card": boxtest.Approve}), 404, "reservation-not-found", ""},
		"pay: another's":             {call{method: "POST", path: "/api/payments", token: bob, key: "k", body: map[string]any{"reservationId": held, "amount": 150000, "card": boxtest.Approve}}, 404, "reservation-not-found", ""},
		"pay: the hold is over":      {pay(map[string]any{"reservationId": over, "amount": 150000, "card": boxtest.Approve}), 409, "hold-ended", "over"},
		"payment: unknown":           {call{method: "GET", path: "/api/payments/x", token: ann}, 404, "payment-not-found", ""},
		"refund: unknown":            {call{method: "POST", path: "/api/payments/x/refund", token: ann}, 404, "payment-not-found", ""},
		"transfer: a hold":           {call{method: "POST", path: "/api/transfers", token: ann, key: "k", body: map[string]any{"reservationId": held, "toMemberId": "bob", "amount": 150000, "card": boxtest.Approve}}, 409, "not-confirmed", "PENDING"},
		"transfer: to herself":       {call{method: "POST", path: "/api/transfers", token: ann, key: "k", body: map[string]any{"reservationId": held, "toMemberId": "ann", "amount": 150000, "card": boxtest.Approve}}, 422, "self-transfer", ""},
		"transfer: to nobody":        {call{method: "POST", path: "/api/transfers", token: ann, key: "k", body: map[string]any{"reservationId": held, "amount": 150000, "card": boxtest.Approve}}, 400, "invalid-request", "toMemberId"},
		"membership: wrong amount":   {call{method: "POST", path: "/api/memberships", token: ann, key: "k", body: map[string]any{"amount": 1, "card": boxtest.Approve}}, 422, "wrong-amount", `"expected":30000`},
		"membership: without a key":  {call{method: "POST", path: "/api/memberships", token: ann, body: map[string]any{"amount": 30000, "card": boxtest.Approve}}, 400, "key-missing", "Idempotency-Key"},
		"a number beyond all bounds": {pay(`{"reservationId":"x","amount":99999999999999999999,"card":"x"}`), 400, "invalid-request", "amount"},
	} {
		r := o.do(c.call)
		if r.status != c.status || r.body["type"] != "/problems/"+c.typ || !strings.Contains(r.text, c.holds) {
			t.Errorf("%s: %d %s\nwant %d %s with %q", name, r.status, r.text, c.status, c.typ, c.holds)
		}
		if got := r.header.Get("Content-Type"); got != "application/problem+json" {
			t.Errorf("%s: content type %s", name, got)
		}
		for _, member := range []string{"type", "title", "status", "detail"} {
			if r.body[member] == nil || r.body[member] == "" {
				t.Errorf("%s: no %s in %s", name, member, r.text)
			}
		}
	}
	assert.Equal(t, "0", o.box.Query(t, `SELECT COUNT(*) FROM payments`), "payments came of bad requests")
	assert.Equal(t, "2", o.box.Query(t, `SELECT COUNT(*) FROM seats WHERE status <> 'AVAILABLE'`), "seats are not free, want the two that were held")
}

func TestLargeBody(t *testing.T) {
	o := newOffice(t, nil)
	token, entry := o.member("ann", "show-1")
	huge := `{"memberId":"` + strings.Repeat("a", 10<<20) + `"}`
	for _, c := range []call{
		{method: "POST", path: "/api/login", body: huge},
		{method: "POST", path: "/api/seats/reserve", token: token, entry: entry, body: huge},
		{method: "POST", path: "/api/payments", token: token, key: "k", body: huge},
		{method: "POST", path: "/api/queue/check/show-1", token: token, body: huge},
		{method: "DELETE", path: "/api/me/tickets/x", token: token, body: huge},
	} {
		if r := o.do(c); r.status != http.StatusRequestEntityTooLarge || r.body["type"] != "/problems/too-large" {
			t.Errorf("%s %s: %d %s", c.method, c.path, r.status, r.text)
		}
	}
}

// forged is a token with another signature.
func forged(token string) string {
	kept := token[:len(token)-3]
	if kept+"abc" == token {
		return kept + "xyz"
	}
	return kept + "abc"
}

func TestWhoMay(t *testing.T) {
	o := newOffice(t, nil)
	ann, entry := o.member("ann", "show-1")
	_, bobs := o.member("bob", "show-1")
	_, elsewhere := o.member("ann", "show-2")
	held := o.hold(ann, entry, "A-1")

	// Without, or with a forged, sign-in.
	for _, c := range []call{
		{method: "POST", path: "/api/queue/check/show-1"}, {method: "POST", path: "/api/queue/heartbeat/show-1"},
		{method: "GET", path: "/api/queue/status/show-1"}, {method: "POST", path: "/api/queue/leave/show-1"},
		{method: "GET", path: "/api/seats/show-1"}, {method: "POST", path: "/api/seats/reserve"},
		{method: "GET", path: "/api/reservations/" + held}, {method: "DELETE", path: "/api/reservations/" + held},
		{method: "GET", path: "/api/me/tickets"}, {method: "DELETE", path: "/api/me/tickets/" + held},
		{method: "POST", path: "/api/payments"}, {method: "GET", path: "/api/payments/x"}, {method: "POST", path: "/api/payments/x/refund"},
		{method: "POST", path: "/api/transfers"}, {method: "POST", path: "/api/memberships"},
	} {
		for token, reason := range map[string]string{"": "missing", forged(ann): "bad_signature", entry: "wrong_type", "x": "malformed"} {
			c.token = token
			r := o.do(c)
			if r.status != 401 || r.body["type"] != "/problems/sign-in-required" || r.body["reason"] != reason || r.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s with the token %q: %d %s", c.method, c.path, token, r.status, r.text)
			}
		}
	}
	// Without, or with the wrong, entry token: the form that clients of the room know.
	guarded := []call{
		{method: "GET", path: "/api/seats/show-1"},
		{method: "POST", path: "/api/seats/reserve", body: `{"eventId":"show-1","seatIds":["A-5"]}`},
		{method: "GET", path: "/api/reservations/" + held},
		{method: "DELETE", path: "/api/reservations/" + held},
	}
	for _, c := range guarded {
		c.token = ann
		if r := o.do(c); r.status != 403 || strings.TrimSpace(r.text) != `{"error":"Queue entry token required","redirectTo":"/queue"}` || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %s", c.method, c.path, r.status, r.text)
		}
		for token, reason := range map[string]string{bobs: "wrong_user", elsewhere: "wrong_event", "x": "malformed", ann: "wrong_type", forged(entry): "bad_signature"} {
			c.entry = token
			r := o.do(c)
			if r.status != 403 || r.body["error"] != "Queue entry token invalid" || r.body["reason"] != reason || r.body["redirectTo"] != "/queue" {
				t.Errorf("%s %s: %d %s, want %s", c.method, c.path, r.status, r.text, reason)
			}
		}
	}
	assert.Equal(t, "PENDING", o.box.Status(t, held), "the reservation")
	// Operators.
	for token, status := range map[string]int{"": 401, "x": 403, ann: 403, adminToken + "x": 403, adminToken: 200} {
		for _, c := range []call{
			{method: "GET", path: "/api/admin/ops"}, {method: "GET", path: "/api/admin/invariants"},
			{method: "GET", path: "/api/admin/dead-letters/dlq.payment"}, {method: "GET", path: "/api/admin/dead-letters/dlq.payment/1"},
			{method: "POST", path: "/api/admin/dead-letters/dlq.payment/redrive", body: `{"all":true}`},
			{method: "POST", path: "/api/admin/dead-letters/dlq.payment/drop", body: `{"all":true}`},
			{method: "GET", path: "/api/admin/groups"},
			{method: "POST", path: "/api/admin/groups/payment.events/stats/reset", body: `{"to":"earliest"}`},
		} {
			c.token = token
			if r := o.do(c); r.status != status {
				t.Errorf("%s %s with %q: %d %s", c.method, c.path, token, r.status, r.text)
			}
		}
	}
	// Public routes need no token.
	for _, path := range []string{"/api/shows", "/api/shows/show-1"} {
		assert.Equalf(t, 200, o.do(call{method: "GET", path: path}).status, "%s", path)
	}
}
