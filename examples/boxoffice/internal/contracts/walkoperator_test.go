package contracts_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// walkOperator reads how everything stands.
func walkOperator(t *testing.T, w *walker, admin string) {
	for _, path := range []string{"/api/admin/ops", "/api/admin/ops?fresh=true", "/api/admin/invariants", "/api/admin/invariants?recent=true", "/api/admin/admissions", "/api/admin/admissions?limit=1"} {
		w.do(t, call{method: "GET", path: path, token: admin, status: 200})
	}
	for _, path := range []string{"/api/admin/ops?fresh=perhaps", "/api/admin/invariants?recent=perhaps", "/api/admin/admissions?limit=0", "/api/admin/admissions?limit=all"} {
		w.do(t, call{method: "GET", path: path, token: admin, status: 400, problem: "invalid-request", broken: true})
	}
}

// walkGroups looks at the consumer groups, which are all at work.
func walkGroups(t *testing.T, w *walker, admin string) {
	w.do(t, call{method: "GET", path: "/api/admin/groups", token: admin, status: 200})
	at := "/api/admin/groups/" + events.Payments + "/" + events.GroupSold + "/reset"
	for _, c := range []call{
		{path: at, body: map[string]any{"to": "earliest", "dryRun": true}, status: 200},
		{path: at, body: map[string]any{"since": "2026-03-01T19:00:00Z", "dryRun": true}, status: 200},
		{path: at, body: map[string]any{"to": "latest"}, status: 409, problem: "group-live"},
		{path: at, body: `{"to":"oldest"}`, status: 400, problem: "invalid-request", broken: true},
		{path: at, body: `{}`, status: 400, problem: "invalid-request", broken: true},
		{path: "/api/admin/groups/" + events.Payments + "/nobody/reset", body: map[string]any{"to": "earliest"}, status: 404, problem: "group-not-found"},
	} {
		c.method, c.token = "POST", admin
		w.do(t, c)
	}
}

// transport opens one of the office's files, as a second process would.
func (o *office) transport(t *testing.T, file string) *bus.Bus {
	t.Helper()
	b, err := bus.Open(t.Context(), "sqlite://"+filepath.Join(o.dir, file), sqlitebus.Scheme(sqlitebus.Config{}))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close())
	})
	return b
}

// poisoned is the malformed subject of the test's own events.
const poisoned = "poison"

// poison publishes an event that no consumer can read.
func (o *office) poison(t *testing.T, topic, typ string) {
	t.Helper()
	e, err := event.New(typ, events.Source, "no object")
	require.NoError(t, err)
	e.AggregateType, e.AggregateID = "payment", poisoned
	m, err := event.Structured{}.Encode(e)
	require.NoError(t, err)
	require.NoError(t, o.transport(t, "boxoffice.db").Publisher().Publish(topic, m))
}

// walkLetters poisons a topic and handles the resulting dead letters.
func walkLetters(t *testing.T, w *walker, o *office, admin string) {
	const at = "/api/admin/dead-letters/dlq.payment"
	do := func(method, path string, body any, status int, problem string, broken bool) reply {
		t.Helper()
		return w.do(t, call{method: method, path: path, token: admin, body: body, status: status, problem: problem, broken: broken})
	}
	for range 3 {
		o.poison(t, events.Payments, events.PaymentSuccess)
	}
	var list struct{ Letters []struct{ ID string } }
	waitFor(t, w, call{method: "GET", path: at + "?limit=100", token: admin, status: 200, into: &list}, func() bool { return len(list.Letters) >= 6 })
	if t.Failed() {
		return
	}
	one := at + "/" + list.Letters[0].ID
	do("GET", one, nil, 200, "", false)
	do("PUT", one, map[string]string{"payload": "no event"}, 422, "payload-refused", false)
	do("PUT", one, `{"payload":7}`, 400, "invalid-request", true)
	var letter struct{ Payload string }
	w.do(t, call{method: "GET", path: one, token: admin, status: 200, into: &letter})
	do("PUT", one, map[string]string{"payload": letter.Payload, "encoding": "utf-8"}, 204, "", false)
	do("GET", at+"/nothing", nil, 404, "dead-letter-not-found", false)
	do("PUT", at+"/nothing", map[string]string{"payload": letter.Payload}, 404, "dead-letter-not-found", false)
	const other = "/api/admin/dead-letters/nothing"
	do("GET", other, nil, 404, "dead-letter-topic-not-found", false)
	do("GET", other+"/1", nil, 404, "dead-letter-topic-not-found", false)
	do("PUT", other+"/1", map[string]string{"payload": "x"}, 404, "dead-letter-topic-not-found", false)
	do("GET", at+"?limit=0", nil, 400, "invalid-request", true)
	dry := map[string]any{"ids": []string{list.Letters[0].ID}, "dryRun": true}
	for _, verb := range []string{"/redrive", "/drop"} {
		do("POST", at+verb, dry, 200, "", false)
		do("POST", at+verb, `{}`, 400, "invalid-request", true)
		do("POST", at+verb, `{"all":true,"rate":-1}`, 400, "invalid-request", true)
		do("POST", other+verb, `{"all":true}`, 404, "dead-letter-topic-not-found", false)
	}
	// During a slow redrive no other call may change anything.
	nothing := map[string]any{"ids": []string{"nothing"}}
	for _, verb := range []string{"/redrive", "/drop"} {
		do("POST", at+verb, nothing, 404, "dead-letter-not-found", false)
	}
	slow, seen := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(slow)
		for !t.Failed() { // the others may be in its way, too
			r := w.do(t, call{method: "POST", path: at + "/redrive", token: admin, body: map[string]any{"all": true, "rate": 2}})
			select {
			case <-seen:
				if r.status == 200 {
					return
				}
			default: // once more: a letter refused again comes back
			}
		}
	}()
	busy := func(method, path string, body any) {
		t.Helper()
		boxtest.WaitFor(t, method+" "+path+" to find the letters busy", func() bool {
			return t.Failed() || problemOf(w.do(t, call{method: method, path: path, token: admin, body: body})) == "dead-letters-busy"
		})
	}
	busy("POST", at+"/drop", nothing)
	busy("POST", at+"/redrive", nothing)
	busy("PUT", one, map[string]string{"payload": letter.Payload})
	close(seen)
	<-slow
	boxtest.WaitFor(t, "the letters to be dropped", func() bool {
		r := w.do(t, call{method: "POST", path: at + "/drop", token: admin, body: map[string]any{"all": true}})
		return t.Failed() || r.status == 200
	})
}
