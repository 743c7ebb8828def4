package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/memgate"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/token"
)

// lines can be unreachable, as Redis can.
type lines struct {
	driver.Store
	away   atomic.Bool
	visits atomic.Int64
}

var errAway = errors.New("dial tcp 10.0.0.7:6379: connection refused")

// Visit implements driver.Store.
func (l *lines) Visit(ctx context.Context, event string, r driver.Rules, b driver.Beats, visits []driver.Visit) (driver.Visited, error) {
	if l.away.Load() {
		return driver.Visited{}, errAway
	}
	l.visits.Add(int64(len(visits)))
	return l.Store.Visit(ctx, event, r, b, visits)
}

// Look implements driver.Store.
func (l *lines) Look(ctx context.Context, event string, r driver.Rules, epoch, version uint64) (driver.View, error) {
	if l.away.Load() {
		return driver.View{}, errAway
	}
	return l.Store.Look(ctx, event, r, epoch, version)
}

// Change implements driver.Store.
func (l *lines) Change(ctx context.Context, event string, r driver.Rules, c driver.Change) (queue.State, error) {
	if l.away.Load() {
		return queue.State{}, errAway
	}
	return l.Store.Change(ctx, event, r, c)
}

func newLines(t *testing.T) driver.Store {
	t.Helper()
	s, err := memqueue.New(memqueue.Config{})
	require.NoError(t, err)
	return s
}

func newRoom(t *testing.T, store driver.Store) (*queue.Room, *token.Entries, *frontgate.Gate) {
	t.Helper()
	ring, err := token.NewRing(secret)
	require.NoError(t, err)
	room, err := queue.New(store, ring, queue.Config{})
	require.NoError(t, err)
	entries, err := token.NewEntries(ring, token.Config{Lasts: time.Minute})
	require.NoError(t, err)
	counters, err := memgate.New(memgate.Config{})
	require.NoError(t, err)
	gate, err := frontgate.New(counters, ring, frontgate.Config{Line: room})
	require.NoError(t, err)
	return room, entries, gate
}

// login signs a member in.
func (o *office) login(id string) (token string) {
	o.t.Helper()
	r := o.do(call{method: "POST", path: "/api/login", body: map[string]string{"memberId": id}})
	token, _ = r.body["token"].(string)
	if r.status != 200 || token == "" {
		o.t.Fatalf("login: %d %s", r.status, r.text)
	}
	return token
}

// queue asks a route of the waiting room of an event.
func (o *office) queue(does, event, token string) reply {
	o.t.Helper()
	method := http.MethodPost
	if does == "status" {
		method = http.MethodGet
	}
	return o.do(call{method: method, path: "/api/queue/" + does + "/" + event, token: token})
}

func TestQueue(t *testing.T) {
	o := newOffice(t, nil)
	ann := o.login("ann")
	r := o.queue("status", "show-2", ann)
	if r.status != 200 || r.body["status"] != "none" || r.body["entryToken"] != nil {
		t.Errorf("before the check: %d %s", r.status, r.text)
	}
	if r = o.queue("heartbeat", "show-2", ann); r.status != 200 || r.body["status"] != "none" {
		t.Errorf("a heartbeat lined somebody up: %d %s", r.status, r.text)
	}
	for _, does := range []string{"check", "heartbeat", "status"} {
		r = o.queue(does, "show-2", ann)
		for _, name := range []string{"status", "queued", "position", "peopleAhead", "peopleBehind", "estimatedWait", "nextPoll", "currentUsers", "threshold", "queueSize", "entryToken"} {
			if _, ok := r.body[name]; !ok {
				t.Errorf("%s lacks %s", does, name)
			}
		}
		if r.status != 200 || r.body["status"] != "active" || r.body["queued"] != false || r.body["threshold"] != 1000.0 || r.body["currentUsers"] != 1.0 {
			t.Errorf("%s: %d %s", does, r.status, r.text)
		}
	}
	// The cookie alone opens the way, as in a browser.
	cookies := r.cookies
	if len(cookies) == 0 || cookies[0].Name != "urr-entry-token-show-2" || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("cookies %v", cookies)
	}
	if r = o.do(call{method: "GET", path: "/api/seats/show-2", token: ann, cookies: cookies}); r.status != 200 {
		t.Errorf("with the cookie: %d %s", r.status, r.text)
	}
	r = o.queue("leave", "show-2", ann)
	if r.status != 204 || len(r.cookies) == 0 || r.cookies[0].MaxAge >= 0 {
		t.Errorf("leave: %d, %v", r.status, r.cookies)
	}
	if r = o.queue("status", "show-2", ann); r.body["status"] != "none" {
		t.Errorf("after leaving: %s", r.text)
	}
}

// A full house: the line, its order, and an operator's actions.
func TestLine(t *testing.T) {
	o := newOffice(t, nil)
	admin := func(method, does string, body any) reply {
		t.Helper()
		return o.do(call{method: method, path: "/api/queue/admin/" + does + "/show-1", token: adminToken, body: body})
	}
	if r := admin("PUT", "threshold", map[string]int{"threshold": 1}); r.status != 200 || r.body["threshold"] != 1.0 {
		t.Fatalf("threshold: %d %s", r.status, r.text)
	}
	tokens := map[string]string{}
	for i, who := range []string{"ann", "bob", "cat"} {
		tokens[who] = o.login(who)
		r := o.queue("check", "show-1", tokens[who])
		want := []string{"active", "queued", "queued"}[i]
		if r.status != 200 || r.body["status"] != want || r.body["position"] != float64(i) {
			t.Fatalf("%s: %d %s", who, r.status, r.text)
		}
		if i > 0 && (r.body["entryToken"] != nil || r.body["ticket"] == nil || r.body["peopleAhead"] != float64(i-1)) {
			t.Errorf("%s: %s", who, r.text)
		}
	}
	// A waiting member has no token, and cannot use the token of a member inside.
	if r := o.do(call{method: "GET", path: "/api/seats/show-1", token: tokens["bob"]}); r.status != 403 {
		t.Errorf("bob looks at the seats: %d %s", r.status, r.text)
	}
	if r := o.queue("check", "show-1", tokens["bob"]); r.body["position"] != 1.0 || r.body["peopleBehind"] != 1.0 {
		t.Errorf("bob again: %s", r.text)
	}
	if r := admin("POST", "pause", nil); r.status != 200 || r.body["paused"] != true || r.body["queueSize"] != 2.0 || r.body["currentUsers"] != 1.0 {
		t.Errorf("pause: %d %s", r.status, r.text)
	}
	if r := o.queue("check", "show-1", tokens["cat"]); r.body["paused"] != true || r.body["estimatedWait"] != nil {
		t.Errorf("cat, while it is paused: %s", r.text)
	}
	if r := admin("POST", "resume", nil); r.status != 200 || r.body["paused"] != false {
		t.Errorf("resume: %d %s", r.status, r.text)
	}
	if r := admin("POST", "clear", nil); r.status != 200 || r.body["queueSize"] != 0.0 || r.body["currentUsers"] != 0.0 {
		t.Errorf("clear: %d %s", r.status, r.text)
	}
	if r := o.queue("check", "show-1", tokens["cat"]); r.body["status"] != "active" {
		t.Errorf("cat, after all were sent away: %s", r.text)
	}
}

func TestThresholdBadInput(t *testing.T) {
	o := newOffice(t, nil)
	put := func(event, body string) reply {
		return o.do(call{method: "PUT", path: "/api/queue/admin/threshold/" + event, token: adminToken, body: body})
	}
	for _, body := range []string{``, `{`, `[]`, `{}`, `{"threshold":-1}`, `{"threshold":1.5}`, `{"threshold":"9"}`, `{"threshold":null}`, `{"threshold":1,"x":2}`, `{"threshold":99999999999999999999}`} {
		if r := put("show-1", body); r.status != 400 || r.body["type"] != "/problems/invalid-request" || r.body["detail"] == "" {
			t.Errorf("%q: %d %s", body, r.status, r.text)
		}
	}
	if r := put("show-9", `{"threshold":1}`); r.status != 404 || r.body["type"] != "/problems/show-not-found" {
		t.Errorf("an unknown show: %d %s", r.status, r.text)
	}
}

func TestQueueOfAnUnknownShow(t *testing.T) {
	o := newOffice(t, nil)
	ann := o.login("ann")
	for _, event := range []string{"show-9", "..", "a%7Bb%7D", strings.Repeat("x", 300)} {
		for _, does := range []string{"check", "heartbeat", "status", "leave"} {
			if r := o.queue(does, event, ann); r.status != 404 && event != ".." || r.status < 300 {
				t.Errorf("%s of %.20s: %d %s", does, event, r.status, r.text)
			}
		}
		for _, does := range []string{"pause", "resume", "clear"} {
			if r := o.do(call{method: "POST", path: "/api/queue/admin/" + does + "/" + event, token: adminToken}); r.status != 404 && event != ".." || r.status < 300 {
				t.Errorf("%s of %.20s: %d %s", does, event, r.status, r.text)
			}
		}
	}
	if events, err := o.lines.Events(t.Context()); err != nil || len(events) != 0 {
		t.Errorf("rooms were opened: %v, %v", events, err)
	}
}

// A token is invalid for writes once its owner has left, also when the owner has come
// again since.
func TestReplayAfterLeave(t *testing.T) {
	o := newOffice(t, nil)
	ann, old := o.member("ann", "show-1")
	held := o.hold(ann, old, "A-1")
	writes := []call{
		{method: "POST", path: "/api/seats/reserve", token: ann, entry: old, body: map[string]any{"eventId": "show-1", "seatIds": []string{"A-2"}}},
		{method: "DELETE", path: "/api/reservations/" + held, token: ann, entry: old},
	}
	refused := func(when string) {
		t.Helper()
		for _, c := range writes {
			if r := o.do(c); r.status != 403 || r.body["reason"] != "not_active" || r.body["redirectTo"] != "/queue" {
				t.Errorf("%s %s %s: %d %s", when, c.method, c.path, r.status, r.text)
			}
		}
	}
	if r := o.queue("leave", "show-1", ann); r.status != 204 {
		t.Fatalf("leave: %d %s", r.status, r.text)
	}
	refused("after leaving")
	_, fresh := o.member("ann", "show-1")
	refused("inside again, with the old token,")
	// Reads do not call the room.
	if r := o.do(call{method: "GET", path: "/api/reservations/" + held, token: ann, entry: old}); r.status != 200 || r.body["status"] != "PENDING" {
		t.Errorf("reading with the old token: %d %s", r.status, r.text)
	}
	for _, c := range writes {
		c.entry = fresh
		if r := o.do(c); r.status >= 300 {
			t.Errorf("with the new token %s: %d %s", c.path, r.status, r.text)
		}
	}
}

// Without its store nobody enters and nothing is written, and the answers tell
// clients when to retry.
func TestRoomAway(t *testing.T) {
	o := newOffice(t, nil)
	ann, entry := o.member("ann", "show-1")
	bob := o.login("bob")
	held := o.hold(ann, entry, "A-1")
	o.lines.away.Store(true)
	for _, c := range []call{
		{method: "POST", path: "/api/queue/check/show-1", token: bob},
		{method: "POST", path: "/api/queue/check/show-2", token: ann},
		{method: "POST", path: "/api/queue/heartbeat/show-1", token: ann},
		{method: "GET", path: "/api/queue/status/show-1", token: ann},
		{method: "POST", path: "/api/queue/leave/show-1", token: ann},
		{method: "POST", path: "/api/seats/reserve", token: ann, entry: entry, body: map[string]any{"eventId": "show-1", "seatIds": []string{"A-2"}}},
		{method: "DELETE", path: "/api/reservations/" + held, token: ann, entry: entry},
		{method: "PUT", path: "/api/queue/admin/threshold/show-1", token: adminToken, body: `{"threshold":1}`},
		{method: "POST", path: "/api/queue/admin/pause/show-1", token: adminToken},
		{method: "POST", path: "/api/queue/admin/clear/show-1", token: adminToken},
	} {
		r := o.do(c)
		if r.status != 503 || r.body["type"] != "/problems/unavailable" || r.header.Get("Retry-After") == "" || strings.Contains(r.text, "10.0.0.7") {
			t.Errorf("%s %s: %d %v %s", c.method, c.path, r.status, r.header, r.text)
		}
	}
	// Reads still work, and so do requests that need no place in the room.
	for _, c := range []call{
		{method: "GET", path: "/api/seats/show-1", token: ann, entry: entry},
		{method: "GET", path: "/api/reservations/" + held, token: ann, entry: entry},
		{method: "GET", path: "/api/me/tickets", token: ann},
	} {
		if r := o.do(c); r.status != 200 {
			t.Errorf("%s: %d %s", c.path, r.status, r.text)
		}
	}
	o.lines.away.Store(false)
	boxtest.WaitFor(t, "the room to be asked again", func() bool { return o.queue("check", "show-1", bob).status == 200 })
	if r := o.do(call{method: "DELETE", path: "/api/reservations/" + held, token: ann, entry: entry}); r.status != 200 {
		t.Errorf("afterwards: %d %s", r.status, r.text)
	}
}

// When every seat is sold, no member lines up; members inside go on.
func TestSoldOut(t *testing.T) {
	o := newOffice(t, nil)
	ann, entry := o.member("ann", "show-1")
	o.box.Exec(t, `UPDATE seats SET status = 'SOLD', reservation_id = 'x' WHERE show_id = 'show-1' AND seat_id <> 'A-1'`)
	o.box.Exec(t, `UPDATE seats SET status = 'HOLD', reservation_id = 'x', hold_expires_at = 1 WHERE show_id = 'show-1' AND seat_id = 'A-1'`)
	bob := o.login("bob")
	if r := o.queue("check", "show-1", bob); r.status != 200 {
		t.Errorf("a held seat may come back: %d %s", r.status, r.text)
	}
	o.box.Exec(t, `UPDATE seats SET status = 'SOLD', reservation_id = 'x', hold_expires_at = NULL WHERE show_id = 'show-1'`)
	cat := o.login("cat")
	boxtest.WaitFor(t, "the show to be known as sold out", func() bool {
		r := o.queue("check", "show-1", cat)
		return r.status == 410 && r.body["type"] == "/problems/sold-out"
	})
	if r := o.queue("heartbeat", "show-1", ann); r.status != 200 || r.body["status"] != "active" {
		t.Errorf("ann, inside: %d %s", r.status, r.text)
	}
	if r := o.do(call{method: "GET", path: "/api/seats/show-1", token: ann, entry: entry}); r.status != 200 {
		t.Errorf("ann looks at the seats: %d %s", r.status, r.text)
	}
	if r := o.queue("leave", "show-1", bob); r.status != 204 {
		t.Errorf("bob leaves: %d %s", r.status, r.text)
	}
	if r := o.queue("check", "show-2", cat); r.status != 200 {
		t.Errorf("another show: %d %s", r.status, r.text)
	}
}

// With the ticket of an earlier answer a poll needs no call of the store.
func TestTicketSavesVisits(t *testing.T) {
	o := newOffice(t, nil)
	if r := o.do(call{method: "PUT", path: "/api/queue/admin/threshold/show-1", token: adminToken, body: `{"threshold":0}`}); r.status != 200 {
		t.Fatalf("threshold: %d %s", r.status, r.text)
	}
	ann := o.login("ann")
	r := o.queue("check", "show-1", ann)
	ticket, _ := r.body["ticket"].(string)
	if r.body["status"] != "queued" || ticket == "" {
		t.Fatal(r.text)
	}
	for range 3 {
		if r = o.do(call{method: "POST", path: "/api/queue/check/show-1", token: ann, ticket: ticket}); r.body["status"] != "queued" || r.body["position"] != 1.0 {
			t.Errorf("with the ticket: %s", r.text)
		}
	}
	if n := o.lines.visits.Load(); n != 1 {
		t.Errorf("four polls visited the store %d times", n)
	}
}
