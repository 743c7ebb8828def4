package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret     = "0123456789abcdef0123456789abcdef"
	adminToken = "the-admin-token-of-this-test"
)

// operator stands in for package ops.
type operator struct {
	deadLetters
	groups
	err error
}

func (o operator) Report(context.Context) (any, error) {
	return map[string]string{"kind": "report"}, o.err
}
func (o operator) ReportNow(context.Context) (any, error) {
	return map[string]string{"kind": "report now"}, o.err
}
func (o operator) InvariantsNow(context.Context) (any, error) {
	return map[string]string{"kind": "invariants now"}, o.err
}
func (o operator) RecentInvariants(context.Context) (any, error) {
	return map[string]string{"kind": "recent invariants"}, o.err
}

// office is an API on a fresh database.
type office struct {
	t   *testing.T
	box *boxtest.Box
	api *api.API
	log *bytes.Buffer
	// lines are the lines of the waiting room.
	lines *lines
}

func newOffice(t *testing.T, change func(*api.Config)) *office {
	t.Helper()
	o := &office{t: t, box: boxtest.New(t), log: &bytes.Buffer{}}
	login, err := auth.NewLogin(secret)
	require.NoError(t, err)
	cfg := api.Config{
		Store: o.box.Store, Catalog: o.box.Catalog, Booking: o.box.Booking, Payments: o.box.Payments, Door: o.box.Door, Login: login,
		AdminToken: adminToken, Operator: operator{deadLetters: deadLetters{new([]string)}}, Logger: slog.New(slog.NewTextHandler(o.log, nil)),
	}
	o.lines = &lines{Store: newLines(t)}
	cfg.Room, cfg.Entries, cfg.Gate = newRoom(t, o.lines)
	if change != nil {
		change(&cfg)
	}
	if o.api, err = api.New(cfg); err != nil {
		t.Fatal(err)
	}
	return o
}

// call is one request. body may be text or something to marshal.
type call struct {
	method, path, token, entry, ticket, key string
	accept                                  string // Accept-Language
	body                                    any
	cookies                                 []*http.Cookie
}

type reply struct {
	status  int
	header  http.Header
	body    map[string]any
	list    []any
	text    string
	cookies []*http.Cookie
}

func (o *office) do(c call) reply {
	o.t.Helper()
	var body io.Reader
	switch b := c.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	case io.Reader:
		body = b
	default:
		text, err := json.Marshal(b)
		if err != nil {
			o.t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	r := httptest.NewRequest(c.method, c.path, body)
	for name, value := range map[string]string{"x-queue-entry-token": c.entry, "x-queue-ticket": c.ticket, "Idempotency-Key": c.key, "Accept-Language": c.accept} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for _, cookie := range c.cookies {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	o.api.ServeHTTP(w, r)
	res := w.Result()
	out := reply{status: res.StatusCode, header: res.Header, text: w.Body.String(), cookies: res.Cookies()}
	switch {
	case strings.HasPrefix(out.text, "["):
		if err := json.Unmarshal(w.Body.Bytes(), &out.list); err != nil {
			o.t.Fatalf("%s %s: %v in %s", c.method, c.path, err, out.text)
		}
	case out.text != "":
		if err := json.Unmarshal(w.Body.Bytes(), &out.body); err != nil {
			o.t.Fatalf("%s %s: %v in %s", c.method, c.path, err, out.text)
		}
	}
	return out
}

// member signs in and enters an event.
func (o *office) member(id, event string) (token, entry string) {
	o.t.Helper()
	r := o.do(call{method: "POST", path: "/api/login", body: map[string]string{"memberId": id}})
	token, _ = r.body["token"].(string)
	if r.status != 200 || token == "" {
		o.t.Fatalf("login: %d %s", r.status, r.text)
	}
	r = o.do(call{method: "POST", path: "/api/queue/check/" + event, token: token})
	entry, _ = r.body["entryToken"].(string)
	if r.status != 200 || entry == "" {
		o.t.Fatalf("queue: %d %s", r.status, r.text)
	}
	return token, entry
}

// hold reserves a seat of show-1 and returns the reservation's id.
func (o *office) hold(token, entry, seat string) string {
	o.t.Helper()
	r := o.do(call{method: "POST", path: "/api/seats/reserve", token: token, entry: entry,
		body: map[string]any{"eventId": "show-1", "seatIds": []string{seat}}})
	if r.status != 201 {
		o.t.Fatalf("reserve: %d %s", r.status, r.text)
	}
	return r.body["reservationId"].(string)
}

func TestBook(t *testing.T) {
	o := newOffice(t, nil)
	token, entry := o.member("ann", "show-1")

	r := o.do(call{method: "GET", path: "/api/shows"})
	first := r.list[0].(map[string]any)
	if r.status != 200 || len(r.list) != 5 || first["id"] != "show-1" || first["seats"].(map[string]any)["available"] != 500.0 {
		t.Fatalf("shows: %d %s", r.status, r.text)
	}
	for _, name := range []string{"id", "title", "commentCount", "likeCount", "viewCount", "salesCount", "seats", "limits"} {
		if _, ok := first[name]; !ok {
			t.Errorf("a show lacks %s", name)
		}
	}
	r = o.do(call{method: "GET", path: "/api/seats/show-1", token: token, entry: entry})
	if seats := r.body["seats"].([]any); r.status != 200 || len(seats) != 500 || seats[0].(map[string]any)["price"] != 150000.0 {
		t.Fatalf("seats: %d %.200s", r.status, r.text)
	}
	r = o.do(call{method: "POST", path: "/api/seats/reserve", token: token, entry: entry,
		body: map[string]any{"eventId": "show-1", "seatIds": []string{"A-1", "A-2"}}})
	if r.status != 201 || r.body["status"] != "PENDING" || r.body["amount"] != 300000.0 || r.body["holdExpiresAt"] == nil {
		t.Fatalf("reserve: %d %s", r.status, r.text)
	}
	id := r.body["reservationId"].(string)
	assert.Equal(t, "/api/reservations/"+id, r.header.Get("Location"), "location")
	r = o.do(call{method: "GET", path: "/api/reservations/" + id, token: token, entry: entry})
	if r.status != 200 || r.body["eventId"] != "show-1" || len(r.body["seatIds"].([]any)) != 2 {
		t.Errorf("reservation: %d %s", r.status, r.text)
	}
	r = o.do(call{method: "POST", path: "/api/payments", token: token, key: "k", body: map[string]any{"reservationId": id, "amount": 300000, "card": boxtest.Approve}})
	if r.status != 202 || r.body["status"] != "PROCESSING" || r.body["paymentId"] == "" || strings.Contains(r.text, boxtest.Approve) {
		t.Fatalf("payment: %d %s", r.status, r.text)
	}
	r = o.do(call{method: "GET", path: "/api/payments/" + r.body["paymentId"].(string), token: token})
	if r.status != 200 || r.body["status"] != "PROCESSING" || r.body["cardLast4"] != "4242" {
		t.Errorf("payment: %d %s", r.status, r.text)
	}
	r = o.do(call{method: "GET", path: "/api/me/tickets", token: token})
	if tickets := r.body["tickets"].([]any); r.status != 200 || len(tickets) != 1 || tickets[0].(map[string]any)["paymentStatus"] != "PROCESSING" {
		t.Errorf("tickets: %d %s", r.status, r.text)
	}
	r = o.do(call{method: "DELETE", path: "/api/me/tickets/" + id, token: token})
	if r.status != 200 || r.body["status"] != "CANCELLED" || r.body["reason"] != "USER_REQUEST" {
		t.Errorf("cancel: %d %s", r.status, r.text)
	}
	r = o.do(call{method: "DELETE", path: "/api/reservations/" + id, token: token, entry: entry})
	if r.status != 200 || r.body["status"] != "CANCELLED" {
		t.Errorf("cancel again: %d %s", r.status, r.text)
	}
}

func TestRefundTransferMembership(t *testing.T) {
	o := newOffice(t, nil)
	token, entry := o.member("ann", "show-1")
	pay := func(path, key string, body map[string]any) (reply, string) {
		t.Helper()
		body["card"] = boxtest.Approve
		r := o.do(call{method: "POST", path: path, token: token, key: key, body: body})
		require.Equalf(t, 202, r.status, "%s: %d %s", path, r.status, r.text)
		id := r.body["paymentId"].(string)
		p, err := o.box.Payments.Get(t.Context(), "ann", id)
		require.NoError(t, err)
		o.box.Deliver(t, o.box.Paid(t, p))
		return r, id
	}
	first, second := o.hold(token, entry, "A-1"), o.hold(token, entry, "A-2")
	_, payment := pay("/api/payments", "1", map[string]any{"reservationId": first, "amount": 150000})
	pay("/api/payments", "2", map[string]any{"reservationId": second, "amount": 150000})

	r := o.do(call{method: "POST", path: "/api/payments/" + payment + "/refund", token: token})
	if r.status != 202 || r.body["refund"] != "REQUESTED" || r.body["refundReason"] != "USER_REQUEST" {
		t.Errorf("refund: %d %s", r.status, r.text)
	}
	r = o.do(call{method: "DELETE", path: "/api/me/tickets/" + first, token: token})
	if r.status != 202 || r.body["status"] != "CONFIRMED" || r.body["refund"] != "REQUESTED" {
		t.Errorf("cancelling a confirmed ticket: %d %s", r.status, r.text)
	}
	r = o.do(call{method: "POST", path: "/api/transfers", token: token, key: "3", body: map[string]any{"reservationId": second, "toMemberId": "bob", "amount": 150000, "card": boxtest.Approve}})
	if r.status != 202 || r.body["transferId"] == nil || r.body["type"] != "transfer" || r.body["status"] != "PROCESSING" {
		t.Fatalf("transfer: %d %s", r.status, r.text)
	}
	bob, _ := o.member("bob", "show-1")
	if got := o.do(call{method: "POST", path: "/api/transfers/" + r.body["transferId"].(string) + "/accept", token: bob}); got.status != 200 || got.body["status"] != "ACCEPTED" || got.body["paymentId"] != nil {
		t.Fatalf("accept: %d %s", got.status, got.text)
	}
	p, err := o.box.Payments.Get(t.Context(), "ann", r.body["paymentId"].(string))
	require.NoError(t, err)
	o.box.Deliver(t, o.box.Paid(t, p))
	r = o.do(call{method: "GET", path: "/api/me/tickets", token: bob})
	ticket := r.body["tickets"].([]any)[0].(map[string]any)
	if ticket["transferred"] != true || ticket["paymentId"] != nil {
		t.Errorf("bob's ticket: %v", ticket)
	}
	if r, _ = pay("/api/memberships", "4", map[string]any{"amount": 30000}); r.body["membershipId"] == nil || r.body["reservationId"] != nil {
		t.Errorf("membership: %s", r.text)
	}
}

func TestPaymentKey(t *testing.T) {
	o := newOffice(t, nil)
	token, entry := o.member("ann", "show-1")
	id, other := o.hold(token, entry, "A-1"), o.hold(token, entry, "A-2")
	pay := func(key, reservation string) reply {
		t.Helper()
		return o.do(call{method: "POST", path: "/api/payments", token: token, key: key, body: map[string]any{"reservationId": reservation, "amount": 150000, "card": boxtest.Approve}})
	}
	first := pay("k", id)
	if again := pay("k", id); again.status != 202 || again.body["paymentId"] != first.body["paymentId"] {
		t.Errorf("again: %d %s", again.status, again.text)
	}
	if r := pay("k", other); r.status != 422 || r.body["type"] != "/problems/key-reused" {
		t.Errorf("reused: %d %s", r.status, r.text)
	}
	if r := pay("", other); r.status != 400 || r.body["type"] != "/problems/key-missing" {
		t.Errorf("missing: %d %s", r.status, r.text)
	}
	for _, key := range []string{"a b", strings.Repeat("k", 129), "k/../x", "ключ"} {
		if r := pay(key, other); r.status != 400 || r.body["type"] != "/problems/key-invalid" {
			t.Errorf("%q: %d %s", key, r.status, r.text)
		}
	}
	if r := pay("own", id); r.status != 409 || r.body["type"] != "/problems/already-paid" || r.body["paymentId"] != first.body["paymentId"] {
		t.Errorf("another key: %d %s", r.status, r.text)
	}
}

func TestConfigIsChecked(t *testing.T) {
	if _, err := api.New(api.Config{}); err == nil {
		t.Error("an empty configuration was accepted")
	}
}

func TestInternalError(t *testing.T) {
	o := newOffice(t, func(c *api.Config) { c.Operator = operator{err: errors.New("the password is hunter2")} })
	r := o.do(call{method: "GET", path: "/api/admin/ops", token: adminToken})
	if r.status != 500 || r.body["type"] != "/problems/internal" || strings.Contains(r.text, "hunter2") {
		t.Errorf("%d %s", r.status, r.text)
	}
	if !strings.Contains(o.log.String(), "hunter2") {
		t.Errorf("the log does not say why: %s", o.log)
	}
	// An outage of the database is neither the client's fault nor permanent.
	token, _ := o.member("ann", "show-1")
	require.NoError(t, o.box.Store.DB().Close())
	r = o.do(call{method: "POST", path: "/api/memberships", token: token, key: "k", body: map[string]any{"amount": 30000, "card": boxtest.Approve}})
	if r.status < 500 || strings.Contains(r.text, "sql") {
		t.Errorf("%d %s", r.status, r.text)
	}
}

func TestBusy(t *testing.T) {
	o := newOffice(t, func(c *api.Config) { c.Writers, c.Wait = 1, time.Second })
	// The one writer waits for the database, which a transaction holds.
	token, _ := o.member("ann", "show-1")
	tx, err := o.box.Store.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	before := o.box.Store.DB().Stats().WaitCount
	first := make(chan reply, 1)
	go func() {
		first <- o.do(call{method: "POST", path: "/api/memberships", token: token, key: "1", body: map[string]any{"amount": 30000, "card": boxtest.Approve}})
	}()
	boxtest.WaitFor(t, "the writer to wait", func() bool { return o.box.Store.DB().Stats().WaitCount > before })
	r := o.do(call{method: "POST", path: "/api/memberships", token: token, key: "x y"}) // refused once its turn comes
	if r.status != 503 || r.body["type"] != "/problems/busy" || r.header.Get("Retry-After") == "" {
		t.Errorf("while another writes: %d %s", r.status, r.text)
	}
	// Reads still work.
	if r := o.do(call{method: "GET", path: "/api/me/tickets", token: token}); r.status != 200 {
		t.Errorf("reading: %d %s", r.status, r.text)
	}
	require.NoError(t, tx.Rollback())
	if r := <-first; r.status != 202 {
		t.Errorf("the writer itself: %d %s", r.status, r.text)
	}
	if r := o.do(call{method: "POST", path: "/api/memberships", token: token, key: "x y"}); r.status != 400 {
		t.Errorf("afterwards: %d %s", r.status, r.text)
	}
}

// A client whose body is still to come holds no writer's turn.
func TestSlowBody(t *testing.T) {
	o := newOffice(t, func(c *api.Config) { c.Writers, c.Wait = 1, time.Second })
	token, _ := o.member("ann", "show-1")
	body, sent := io.Pipe()
	slow := make(chan reply, 1)
	go func() { slow <- o.do(call{method: "POST", path: "/api/login", body: body}) }()
	if _, err := io.WriteString(sent, `{"memberId": `); err != nil { // returns when it is read
		t.Fatal(err)
	}
	r := o.do(call{method: "POST", path: "/api/memberships", token: token, key: "x y"}) // refused once its turn comes
	assert.Equalf(t, 400, r.status, "while another's body is to come: %d %s", r.status, r.text)
	sent.CloseWithError(io.ErrUnexpectedEOF)
	if r := <-slow; r.status != 400 {
		t.Errorf("a body that ends early: %d %s", r.status, r.text)
	}
}

func TestHealthyAdmin(t *testing.T) {
	o := newOffice(t, nil)
	for path, kind := range map[string]string{
		"/api/admin/ops": "report", "/api/admin/ops?fresh=false": "report", "/api/admin/ops?fresh=true": "report now",
		"/api/admin/invariants": "invariants now", "/api/admin/invariants?recent=true": "recent invariants",
	} {
		if r := o.do(call{method: "GET", path: path, token: adminToken}); r.status != 200 || r.body["kind"] != kind {
			t.Errorf("%s: %d %s", path, r.status, r.text)
		}
	}
	for _, path := range []string{"/api/admin/ops?fresh=now", "/api/admin/invariants?recent=1"} {
		if r := o.do(call{method: "GET", path: path, token: adminToken}); r.status != 400 {
			t.Errorf("%s: %d %s", path, r.status, r.text)
		}
	}
}
