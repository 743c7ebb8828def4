package redisqueue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
)

// TestClockSteps sets the clock of Redis forward and back.
func TestClockSteps(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			r := newRoom(t, client, redistest.Prefix(t, client), 0)
			last, n := int64(0), 0
			for _, step := range []time.Duration{
				0, time.Second, -time.Hour, time.Minute, -90 * time.Second, 5 * time.Minute, -30 * time.Second,
			} {
				r.ahead.Add(step.Microseconds())
				o := r.check(fmt.Sprint("user", n))
				if o.Status != driver.Waiting || o.Ahead != n || o.Order <= last {
					t.Fatalf("after a step of %v number %d is answered %+v, behind order %d", step, n, o, last)
				}
				last = o.Order
				n++
				if removed := r.sweep(); removed != 0 {
					t.Fatalf("after a step of %v %d were removed, who were heard of", step, removed)
				}
			}
			r.rules.Threshold = n
			a := r.admit()
			if len(a.Admitted) != n || a.Next <= 0 || a.Next > r.rules.Tick {
				t.Fatalf("%d of %d are admitted; the next tick begins in %v", len(a.Admitted), n, a.Next)
			}
			r.ahead.Add(-time.Hour.Microseconds())
			r.rules.Threshold++
			r.visit(driver.Visit{Kind: driver.Leave, User: "user0"})
			r.check("late")
			if v := r.visit(); v.Active+v.Entitled != n || v.Active != 1 {
				t.Errorf("%d are active and %d entitled after a step back, want 1 of %d", v.Active, v.Entitled, n)
			}
		})
	}
}

// TestStepBackHoldsTheSweep: a user alive before a step back has Rules.Seen to poll
// again, and is then removed; the same holds for the next step.
func TestStepBackHoldsTheSweep(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	r := newRoom(t, open(t, s.URL()), "", 0)
	for _, step := range []time.Duration{time.Hour, 2 * time.Minute} {
		r.check("silent")
		r.check("alive")
		r.ahead.Add(-step.Microseconds())
		for range 10 {
			r.check("alive")
			require.Equal(t, 0, r.sweep(), "were removed within the grace")
			r.ahead.Add(time.Minute.Microseconds())
		}
		removed := 0
		for range 5 { // Rules.Seen is over, also for the times ahead of the step
			r.ahead.Add(time.Minute.Microseconds())
			r.check("alive")
			removed += r.sweep()
		}
		assert.Equal(t, 1, removed, "were removed after the grace, want the one who is silent")
	}
}

// TestStepBackWhileSettling: a room does not settle for longer than it should.
func TestStepBackWhileSettling(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t)
	r := newRoom(t, open(t, s.URL()), "", 1)
	v := r.visit(driver.Visit{Kind: driver.Check, User: "a", Epoch: 1, Order: 1000, Until: r.visit().Now.Add(time.Minute)})
	if v.Settling <= 0 || v.Settling > r.rules.Settle {
		t.Fatalf("a ticket comes to a young room, which settles for %v", v.Settling)
	}
	r.ahead.Add(-time.Hour.Microseconds())
	if a := r.admit(); len(a.Admitted) != 1 || a.Settling != 0 {
		t.Errorf("%d are admitted after a step back; the room settles for %v", len(a.Admitted), a.Settling)
	}
}
