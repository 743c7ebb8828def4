package redisqueue_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

// room is an event of a store whose clock can be moved.
type room struct {
	t     *testing.T
	store driver.Store
	rules driver.Rules
	ahead *atomic.Int64 // µs
}

func newRoom(t *testing.T, client redis.UniversalClient, prefix string, threshold int) *room {
	t.Helper()
	r := &room{t: t, store: newStore(t, client, prefix), rules: rulesOf(threshold), ahead: new(atomic.Int64)}
	redisqueue.Clocked(r.store, func() int64 { return time.Now().UnixMicro() + r.ahead.Load() })
	return r
}

func (r *room) visit(visits ...driver.Visit) driver.Visited {
	r.t.Helper()
	v, err := r.store.Visit(r.t.Context(), "e", r.rules, driver.Beats{}, visits)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r *room) check(user string) driver.Outcome {
	r.t.Helper()
	return r.visit(driver.Visit{Kind: driver.Check, User: user}).Outcomes[0]
}

func (r *room) admit() driver.Admission {
	r.t.Helper()
	a, err := r.store.Admit(r.t.Context(), "e", r.rules)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *room) sweep() (removed int) {
	r.t.Helper()
	for from := int64(0); ; {
		s, err := r.store.Sweep(r.t.Context(), "e", r.rules, from)
		if err != nil {
			r.t.Fatal(err)
		}
		if removed += s.Removed; s.Done {
			return removed
		}
		from = s.Next
	}
}

// TestPlacesWithinACall polls for many users in a call that changes the line.
func TestPlacesWithinACall(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	r := newRoom(t, open(t, s.URL()), "", 0)
	const n = 100
	user := func(i int) string { return fmt.Sprint("user", i) }
	for i := range n {
		r.check(user(i))
	}
	var visits []driver.Visit
	var want []int
	add := func(kind driver.Kind, who string, ahead int) {
		visits, want = append(visits, driver.Visit{Kind: kind, User: who}), append(want, ahead)
	}
	for i := range 40 {
		add(driver.Heartbeat, user(i), i)
	}
	add(driver.Leave, user(0), 0)
	add(driver.Heartbeat, user(50), 49)
	add(driver.Check, "new", n-1)
	add(driver.Heartbeat, "new", n-1)
	add(driver.Leave, user(1), 0)
	add(driver.Heartbeat, "new", n-2)
	visits, want = append(visits, driver.Visit{Kind: driver.Check, User: "old", Epoch: 1, Order: 5, Until: r.visit().Now.Add(time.Minute)}), append(want, 0)
	add(driver.Heartbeat, user(50), 49)
	add(driver.Check, "newer", n)
	add(driver.Heartbeat, "newer", n)
	add(driver.Leave, "old", 0)
	add(driver.Heartbeat, "newer", n-1)
	for i, o := range r.visit(visits...).Outcomes {
		if o.Ahead != want[i] || (o.Status == driver.None) != (visits[i].Kind == driver.Leave) {
			t.Errorf("visit %d, %+v, is answered %+v, want %d ahead", i, visits[i], o, want[i])
		}
	}
}

// TestAChunkWhileTimePasses: users expire between the scripts of a call, of which the last one
// may give one turn.
func TestAChunkWhileTimePasses(t *testing.T) {
	t.Parallel()
	client := servers["redis"](t)
	r := newRoom(t, client, redistest.Prefix(t, client), 2)
	now, step := time.Now().UnixMicro(), int64(0)
	redisqueue.Clocked(r.store, func() int64 { now += step; return now })
	r.check("a")
	now += 4e6
	r.check("b")
	for i := range 3 {
		var line []driver.Visit
		for j := range 200 {
			line = append(line, driver.Visit{User: fmt.Sprint(i, "/", j)})
		}
		r.visit(line...)
	}
	r.rules.Threshold, r.rules.Batch = 1000, 1000
	now, step = now+r.rules.Active.Microseconds()-5e6, 1e6
	if a := r.admit(); len(a.Admitted) != driver.MaxChunk || a.Expired != 2 {
		t.Errorf("%d turns, and the room is %+v", len(a.Admitted), a.State)
	}
}
