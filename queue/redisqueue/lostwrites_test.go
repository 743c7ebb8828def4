package redisqueue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

// promoted is a room of 20 users whose server was lost, with a replica in its place
// that did not get its last writes: those of 10 more, whose tickets it returns.
func promoted(t *testing.T, hidden bool) (*room, []driver.Visit) {
	t.Helper()
	old, next := redistest.StartServer(t, "--repl-diskless-sync-delay", "0"), redistest.StartServer(t)
	master, replica := open(t, old.URL()), open(t, next.URL())
	host, port, _ := strings.Cut(old.Address, ":")
	require.NoError(t, replica.Do(t.Context(), "REPLICAOF", host, port).Err())
	// The first replica gives a master another id.
	replicated := func() {
		redistest.Eventually(t, "replication", func() error {
			n, err := master.Do(t.Context(), "WAIT", 1, 100).Int()
			if err == nil && n != 1 {
				err = fmt.Errorf("%d replicas have all", n)
			}
			return err
		})
	}
	require.NoError(t, master.Set(t.Context(), "first", 1, 0).Err())
	replicated()
	before := &room{t: t, store: newStore(t, master, ""), rules: rulesOf(0)}
	after := &room{t: t, store: newStore(t, replica, ""), rules: rulesOf(0)}
	if hidden {
		redisqueue.Hidden(before.store)
		redisqueue.Hidden(after.store)
	}
	for i := range 20 {
		before.check(fmt.Sprint("user", i))
	}
	replicated()
	require.NoError(t, replica.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	var lost []driver.Visit
	for i := range 10 {
		v := before.visit(driver.Visit{Kind: driver.Check, User: fmt.Sprint("lost", i)})
		if o := v.Outcomes[0]; o.Ahead != 20+i {
			t.Fatalf("lost%d is answered %+v", i, o)
		}
		lost = append(lost, driver.Visit{Kind: driver.Check, User: fmt.Sprint("lost", i), Epoch: v.Epoch, Order: v.Outcomes[0].Order, Until: v.Now.Add(time.Minute)})
	}
	old.Kill()
	return after, lost
}

// in expects a line in its order.
func (r *room) in(users ...string) {
	r.t.Helper()
	for i, user := range users {
		if o := r.check(user); o.Status != driver.Waiting || o.New || o.Ahead != i {
			r.t.Errorf("%s is answered %+v, want %d ahead", user, o, i)
		}
	}
}

func numbered(name string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(name, i))
	}
	return all
}

// TestPromotionLosesNoPlace: newcomers come first to a server that has lost the last
// writes, by a process that knows nothing of them. The users of those writes stand
// before them all the same.
func TestPromotionLosesNoPlace(t *testing.T) {
	t.Parallel()
	r, lost := promoted(t, false)
	for i, user := range numbered("newcomer", 10) {
		if o := r.check(user); o.Order <= lost[9].Order || o.Ahead != 20+i {
			t.Fatalf("%s is answered %+v; order %d was given out", user, o, lost[9].Order)
		}
	}
	for _, i := range []int{7, 0, 3, 9, 1, 2, 8, 4, 6, 5} {
		if o := r.visit(lost[i]).Outcomes[0]; o.Order != lost[i].Order || !o.New {
			t.Errorf("the ticket of order %d is answered %+v", lost[i].Order, o)
		}
	}
	line := append(append(numbered("user", 20), numbered("lost", 10)...), numbered("newcomer", 10)...)
	r.in(line...)
	if s := r.visit().State; s.Servers != 2 || s.Settling != 0 || s.Waiting != 40 {
		t.Errorf("the room is %+v", s)
	}
	v, err := r.store.Look(t.Context(), "e", r.rules, 0, 0)
	if err != nil || v.Servers != 2 {
		t.Errorf("a look sees %d servers, %v", v.Servers, err)
	}
	r.rules.Threshold, r.rules.Batch = 40, 40
	var admitted []string
	for _, one := range r.admit().Admitted {
		admitted = append(admitted, one.User)
	}
	if !slices.Equal(admitted, line) {
		t.Errorf("admitted are %v", admitted)
	}
}

// TestPromotionUnseen: where the server hides its id, the processes that have seen
// the last orders keep them from being given out again.
func TestPromotionUnseen(t *testing.T) {
	t.Parallel()
	r, lost := promoted(t, true)
	v, err := r.store.Visit(t.Context(), "e", r.rules, driver.Beats{Highest: lost[9].Order}, []driver.Visit{{User: "newcomer"}})
	if err != nil || v.Outcomes[0].Order <= lost[9].Order || v.Servers != 0 {
		t.Fatalf("the newcomer is answered %+v, %v", v, err)
	}
	for _, ticket := range lost {
		r.visit(ticket)
	}
	r.in(append(append(numbered("user", 20), numbered("lost", 10)...), "newcomer")...)
}
