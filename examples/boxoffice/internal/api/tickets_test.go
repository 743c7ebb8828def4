package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
)

// booked is a confirmed reservation of seats.
func (o *office) booked(token, entry string, seats ...string) string {
	o.t.Helper()
	r := o.do(call{method: "POST", path: "/api/seats/reserve", token: token, entry: entry, body: map[string]any{"eventId": "show-1", "seatIds": seats}})
	if r.status != 201 {
		o.t.Fatalf("hold: %d %s", r.status, r.text)
	}
	id, amount := r.body["reservationId"].(string), r.body["amount"]
	r = o.do(call{method: "POST", path: "/api/payments", token: token, key: "pay-" + id, body: map[string]any{"reservationId": id, "amount": amount, "card": boxtest.Approve}})
	if r.status != 202 {
		o.t.Fatalf("pay: %d %s", r.status, r.text)
	}
	p, err := o.box.Payments.Get(o.t.Context(), o.box.Query(o.t, `SELECT member_id FROM reservations WHERE reservation_id = $1`, id), r.body["paymentId"].(string))
	if err != nil {
		o.t.Fatal(err)
	}
	o.box.Deliver(o.t, o.box.Paid(o.t, p))
	return id
}

func (o *office) scan(code, event, key string) reply {
	o.t.Helper()
	return o.do(call{method: "POST", path: "/api/admin/scan", token: adminToken, key: key, body: map[string]any{"code": code, "eventId": event}})
}

func TestTicketRoutes(t *testing.T) {
	o := newOffice(t, nil)
	ann, entry := o.member("ann", "show-1")
	id := o.booked(ann, entry, "A-1", "A-2")
	r := o.do(call{method: "GET", path: "/api/me/tickets/" + id + "/codes", token: ann})
	codes := r.body["codes"].([]any)
	if r.status != 200 || len(codes) != 2 || r.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", r.status, r.text)
	}
	first := codes[0].(map[string]any)
	code := first["code"].(string)
	if first["seatId"] != "A-1" || first["ticketId"] != id+".A-1" || first["usedAt"] != nil || first["picture"].(map[string]any)["path"] == "" {
		t.Errorf("%v", first)
	}
	// A scanner needs only the public keys.
	r = o.do(call{method: "GET", path: "/api/tickets/keys"})
	var keys ticket.PublicKeys
	if err := json.Unmarshal([]byte(r.text), &keys); err != nil || r.status != 200 || r.header.Get("Content-Type") != "application/jwk-set+json" {
		t.Fatalf("%d %s %v", r.status, r.text, err)
	}
	if got, err := ticket.Verify(keys, code); err != nil || got.SeatID != "A-1" {
		t.Errorf("%+v, %v", got, err)
	}
	for i, want := range []struct{ event, key, status string }{
		{"show-2", "1", "OTHER_SHOW"}, {"show-1", "2", "VALID"}, {"show-1", "2", "VALID"}, {"show-1", "3", "USED"},
	} {
		r := o.scan(code, want.event, want.key)
		if r.status != 200 || r.body["status"] != want.status || r.body["seatId"] != "A-1" || (r.body["usedAt"] == nil) != (want.status == "OTHER_SHOW") {
			t.Errorf("scan %d: %d %s", i, r.status, r.text)
		}
	}
	r = o.do(call{method: "GET", path: "/api/me/tickets/" + id + "/codes", token: ann})
	if r.body["codes"].([]any)[0].(map[string]any)["usedAt"] == nil {
		t.Errorf("used: %s", r.text)
	}
	r = o.do(call{method: "GET", path: "/api/me/tickets", token: ann})
	if r.body["tickets"].([]any)[0].(map[string]any)["used"] != true {
		t.Errorf("used: %s", r.text)
	}
	// A used ticket stays.
	for _, c := range []call{
		{method: "DELETE", path: "/api/me/tickets/" + id, token: ann},
		{method: "POST", path: "/api/transfers", token: ann, key: "t", body: map[string]any{"reservationId": id, "toMemberId": "bob", "amount": 300000, "card": boxtest.Approve}},
	} {
		if r := o.do(c); r.status != 409 || r.body["type"] != "/problems/ticket-used" {
			t.Errorf("%s %s: %d %s", c.method, c.path, r.status, r.text)
		}
	}
}

func TestTransferRoutes(t *testing.T) {
	o := newOffice(t, nil)
	ann, entry := o.member("ann", "show-1")
	bob, _ := o.member("bob", "show-1")
	id := o.booked(ann, entry, "A-1")
	offer := func(key string) string {
		t.Helper()
		r := o.do(call{method: "POST", path: "/api/transfers", token: ann, key: key, body: map[string]any{"reservationId": id, "toMemberId": "bob", "amount": 150000, "card": boxtest.Approve}})
		require.Equalf(t, 202, r.status, "%d %s", r.status, r.text)
		return r.body["transferId"].(string)
	}
	first := offer("1")
	for _, c := range []struct {
		who, move string
		status    int
		want      string // the status of the transfer, or the problem
	}{
		{ann, "accept", 404, "/problems/transfer-not-found"}, {ann, "decline", 404, "/problems/transfer-not-found"}, {bob, "withdraw", 404, "/problems/transfer-not-found"},
		{bob, "decline", 200, "CANCELLED"}, {bob, "decline", 200, "CANCELLED"}, {bob, "accept", 409, "/problems/transfer-decided"},
		{ann, "withdraw", 409, "/problems/transfer-decided"},
	} {
		r := o.do(call{method: "POST", path: "/api/transfers/" + first + "/" + c.move, token: c.who})
		if r.status != c.status || r.body["status"] != c.want && r.body["type"] != c.want {
			t.Errorf("%s: %d %s", c.move, r.status, r.text)
		}
		if c.status == 409 && (r.body["transferStatus"] != "CANCELLED" || r.body["reason"] != "DECLINED") {
			t.Errorf("%s: %s", c.move, r.text)
		}
	}
	second := offer("2")
	if r := o.do(call{method: "POST", path: "/api/transfers/" + second + "/withdraw", token: ann}); r.status != 200 || r.body["reason"] != "WITHDRAWN" {
		t.Errorf("withdraw: %d %s", r.status, r.text)
	}
	for who, wants := range map[string]bool{ann: true, bob: false} {
		r := o.do(call{method: "GET", path: "/api/me/transfers", token: who})
		list := r.body["transfers"].([]any)
		if r.status != 200 || len(list) != 2 {
			t.Fatalf("%d %s", r.status, r.text)
		}
		newest := list[0].(map[string]any)
		if newest["transferId"] != second || newest["eventId"] != "show-1" || len(newest["seatIds"].([]any)) != 1 || (newest["paymentId"] != nil) != wants {
			t.Errorf("%s", r.text)
		}
	}
	cid, _ := o.member("cid", "show-1")
	if r := o.do(call{method: "GET", path: "/api/me/transfers", token: cid}); r.status != 200 || len(r.body["transfers"].([]any)) != 0 {
		t.Errorf("somebody else's: %d %s", r.status, r.text)
	}
}

func TestMembershipRoute(t *testing.T) {
	o := newOffice(t, nil)
	ann, _ := o.member("ann", "show-1")
	ask := func() reply { return o.do(call{method: "GET", path: "/api/me/memberships", token: ann}) }
	if r := ask(); r.status != 200 || r.body["price"] != 30000.0 || len(r.body["memberships"].([]any)) != 0 {
		t.Errorf("%d %s", r.status, r.text)
	}
	r := o.do(call{method: "POST", path: "/api/memberships", token: ann, key: "m", body: map[string]any{"amount": 30000, "card": boxtest.Approve}})
	require.Equalf(t, 202, r.status, "%d %s", r.status, r.text)
	p, err := o.box.Payments.Get(t.Context(), "ann", r.body["paymentId"].(string))
	require.NoError(t, err)
	if m := ask().body["memberships"].([]any)[0].(map[string]any); m["status"] != "PENDING" || m["expiresAt"] != nil {
		t.Errorf("%v", m)
	}
	o.box.Deliver(t, o.box.Paid(t, p))
	if m := ask().body["memberships"].([]any)[0].(map[string]any); m["status"] != "ACTIVE" || m["expiresAt"] == nil || m["paymentId"] != p.ID {
		t.Errorf("%v", m)
	}
}

func TestTicketBadInput(t *testing.T) {
	o := newOffice(t, nil)
	ann, entry := o.member("ann", "show-1")
	bob, _ := o.member("bob", "show-1")
	mine := o.booked(ann, entry, "A-1")
	held := o.hold(ann, entry, "A-2")
	code := o.do(call{method: "GET", path: "/api/me/tickets/" + mine + "/codes", token: ann}).body["codes"].([]any)[0].(map[string]any)["code"].(string)
	parts := strings.Split(code, ".")
	scan := func(body any) call {
		return call{method: "POST", path: "/api/admin/scan", token: adminToken, key: "k", body: body}
	}
	for name, c := range map[string]struct {
		call
		status int
		typ    string
		holds  string
	}{
		"codes: another's":        {call{method: "GET", path: "/api/me/tickets/" + mine + "/codes", token: bob}, 404, "reservation-not-found", ""},
		"codes: of nothing":       {call{method: "GET", path: "/api/me/tickets/x/codes", token: ann}, 404, "reservation-not-found", ""},
		"codes: of a hold":        {call{method: "GET", path: "/api/me/tickets/" + held + "/codes", token: ann}, 409, "no-ticket", "PENDING"},
		"codes: nobody's":         {call{method: "GET", path: "/api/me/tickets/" + mine + "/codes"}, 401, "sign-in-required", ""},
		"accept: nothing":         {call{method: "POST", path: "/api/transfers/x/accept", token: ann}, 404, "transfer-not-found", "GET /api/me/transfers"},
		"accept: nobody":          {call{method: "POST", path: "/api/transfers/x/accept"}, 401, "sign-in-required", ""},
		"transfers: nobody":       {call{method: "GET", path: "/api/me/transfers"}, 401, "sign-in-required", ""},
		"memberships: nobody":     {call{method: "GET", path: "/api/me/memberships"}, 401, "sign-in-required", ""},
		"accept: with GET":        {call{method: "GET", path: "/api/transfers/x/accept", token: ann}, 405, "method-not-allowed", "POST"},
		"another decision":        {call{method: "POST", path: "/api/transfers/x/steal", token: ann}, 404, "not-found", ""},
		"scan: no token":          {call{method: "POST", path: "/api/admin/scan"}, 401, "admin-token-required", ""},
		"scan: a member":          {call{method: "POST", path: "/api/admin/scan", token: ann}, 403, "admin-token-wrong", ""},
		"scan: no key":            {call{method: "POST", path: "/api/admin/scan", token: adminToken, body: map[string]any{"code": code, "eventId": "show-1"}}, 400, "key-missing", "Idempotency-Key"},
		"scan: not JSON":          {scan(`{"code":`), 400, "invalid-request", "middle"},
		"scan: no show":           {scan(map[string]any{"code": code}), 400, "invalid-request", `"field":"eventId"`},
		"scan: an unknown show":   {scan(map[string]any{"code": code, "eventId": "show-9"}), 404, "show-not-found", ""},
		"scan: no code":           {scan(map[string]any{"eventId": "show-1"}), 400, "invalid-request", `"field":"code"`},
		"scan: a number":          {scan(`{"eventId":"show-1","code":7}`), 400, "invalid-request", "a string"},
		"scan: an unknown field":  {scan(`{"eventId":"show-1","code":"x","force":true}`), 400, "invalid-request", `"field":"force"`},
		"scan: no ticket's":       {scan(map[string]any{"eventId": "show-1", "code": "https://example.org"}), 422, "code-refused", `"reason":"malformed"`},
		"scan: a changed code":    {scan(map[string]any{"eventId": "show-1", "code": parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2]))}), 422, "code-refused", `"reason":"bad_signature"`},
		"scan: a sign-in":         {scan(map[string]any{"eventId": "show-1", "code": ann}), 422, "code-refused", `"field":"code"`},
		"membership: wrong price": {call{method: "POST", path: "/api/memberships", token: ann, key: "m", body: map[string]any{"amount": 1, "card": boxtest.Approve}}, 422, "wrong-amount", `"expected":30000`},
	} {
		r := o.do(c.call)
		if r.status != c.status || r.body["type"] != "/problems/"+c.typ || !strings.Contains(r.text, c.holds) || r.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", name, r.status, r.text)
		}
		assert.NotContainsf(t, r.text, code, "%s: the code is in the answer", name)
	}
	if r := o.scan(code, "show-1", "last"); r.status != http.StatusOK || r.body["status"] != "VALID" {
		t.Errorf("a bad request used the ticket: %d %s", r.status, r.text)
	}
	assert.NotContains(t, o.log.String(), code, "a code was logged")
}
