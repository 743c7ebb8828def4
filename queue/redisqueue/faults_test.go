package redisqueue_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
)

// TestFlush loses all data in the middle of a line that eight instances serve.
// Users with a ticket have their old places, newcomers are behind them, and no user
// enters while the line forms again.
func TestFlush(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	admin := open(t, s.URL())
	r := newRoom(t, admin, "", 0)
	const n = 200
	tickets := make([]driver.Visit, n)
	for i := range tickets {
		user := fmt.Sprintf("user-%03d", n-i)
		v := r.visit(driver.Visit{Kind: driver.Check, User: user})
		tickets[i] = driver.Visit{Kind: driver.Check, User: user, Epoch: v.Epoch, Order: v.Outcomes[0].Order, Until: v.Now.Add(time.Minute)}
	}
	instances := make([]*room, 8)
	for i := range instances {
		instances[i] = newRoom(t, open(t, s.URL()), "", 1000)
		instances[i].ahead = r.ahead
	}
	// During the flushes each user comes again and again until all have stood in the
	// new line, and newcomers come among them.
	zero, all := 0, 1000
	change := func(to *int) {
		_, err := r.store.Change(t.Context(), "e", r.rules, driver.Change{Threshold: to})
		require.NoError(t, err)
	}
	change(&zero)
	old := tickets[0].Epoch
	var group sync.WaitGroup
	for i, instance := range instances {
		group.Go(func() {
			for at := i; at < n; at += len(instances) {
				for again := true; again; {
					v, err := instance.store.Visit(t.Context(), "e", instance.rules, driver.Beats{}, []driver.Visit{
						tickets[at], {Kind: driver.Check, User: fmt.Sprintf("newcomer-%d", at)},
					})
					if err != nil {
						t.Error(err)
						return
					}
					if again = v.Epoch == old; again {
						continue
					}
					if o := v.Outcomes[0]; o.Status != driver.Waiting || o.Order != tickets[at].Order {
						t.Errorf("%+v is answered %+v after the loss", tickets[at], o)
					}
				}
			}
		})
	}
	require.NoError(t, admin.FlushAll(t.Context()).Err())
	group.Wait()
	r.rules.Threshold, r.rules.Batch = 1000, 1000
	if a := r.admit(); len(a.Admitted) > 0 || a.Settling <= 0 {
		t.Fatalf("%d are admitted to a room that settles for %v", len(a.Admitted), a.Settling)
	}
	change(&all)
	r.ahead.Add((2 * time.Minute).Microseconds())
	a := r.admit()
	if len(a.Admitted) < 2*n {
		t.Fatalf("%d of %d are admitted", len(a.Admitted), 2*n)
	}
	for i, ticket := range tickets {
		if a.Admitted[i].User != ticket.User {
			t.Fatalf("number %d is %s, and was %s before the loss", i, a.Admitted[i].User, ticket.User)
		}
	}
	if !slices.IsSortedFunc(a.Admitted, func(a, b driver.Admitted) int { return int(a.Order - b.Order) }) {
		t.Error("they are not admitted by their orders")
	}
}

// TestLostScripts runs each script on a server that has forgotten it.
func TestLostScripts(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	admin := open(t, s.URL())
	r := newRoom(t, admin, "", 0)
	forget := func() {
		require.NoError(t, admin.ScriptFlush(t.Context()).Err())
	}
	for i := range 3 {
		forget()
		if o := r.check(fmt.Sprint(i)); o.Ahead != i {
			t.Errorf("number %d is answered %+v", i, o)
		}
	}
	forget()
	assert.Equal(t, 0, r.sweep(), "were removed")
	forget()
	_, err := r.store.Look(t.Context(), "e", r.rules, 0, 0)
	assert.NoError(t, err)
	forget()
	one := 1
	_, err = r.store.Change(t.Context(), "e", r.rules, driver.Change{Threshold: &one})
	assert.NoError(t, err)
	forget()
	if a := r.admit(); len(a.Admitted) != 1 || a.Admitted[0].User != "0" {
		t.Errorf("admitted %+v", a)
	}
}

// TestDown: every call fails, with a class that says that a retry may help.
func TestDown(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	r := newRoom(t, open(t, s.URL()), "", 0)
	r.check("a")
	s.Kill()
	ctx, e := context.Background(), "e"
	_, err1 := r.store.Visit(ctx, e, r.rules, driver.Beats{}, nil)
	_, err2 := r.store.Look(ctx, e, r.rules, 0, 0)
	_, err3 := r.store.Admit(ctx, e, r.rules)
	_, err4 := r.store.Sweep(ctx, e, r.rules, 0)
	_, err5 := r.store.Change(ctx, e, r.rules, driver.Change{})
	_, err6 := r.store.Events(ctx)
	for i, err := range []error{err1, err2, err3, err4, err5, err6} {
		assert.Equalf(t, fault.Infrastructure, fault.Of(err), "call %d: %v", i, err)
	}
}
