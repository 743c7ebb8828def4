package logsub_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

// stall makes the calls of an operation wait, as those of a server that does not answer, until
// the returned function is called.
func (l *link) stall(op string) (begun <-chan struct{}, end func()) {
	waits, stalled := make(chan struct{}, 100), make(chan struct{})
	hook := func(called string) error {
		if called == op {
			waits <- struct{}{}
			<-stalled
		}
		return nil
	}
	l.fail.Store(&hook)
	return waits, func() {
		l.fail.Store(nil)
		close(stalled)
	}
}

// A member that leaves while a heartbeat waits for the database is reported as alive no more: its
// share of the partitions would have no reader as long as the process lives.
func TestAMemberLeavesDuringAHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i, other := start(t, m, one), start(t, m, one)
		i.publish("k#1")
		s := i.subscribe(1)
		next(t, s).Done()
		beating, answer := i.link.stall("beat")
		<-beating
		require.NoError(t, s.Close())
		answer()
		time.Sleep(5 * ttl)
		groups, err := other.Groups(t.Context(), topic)
		if err != nil || len(groups) != 1 || groups[0].Live {
			t.Errorf("the group is %+v, %v; want no live member", groups, err)
		}
	})
}

// Where lanes hang alone, one without an answer keeps no other's lease, cursor or messages waiting.
func TestLanesHangApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.apart = true
		i := start(t, m, logsub.Config{Partitions: 2})
		s := i.subscribe(20)
		for _, first := range []string{"a#1", "b#1"} {
			i.publish(first)
			expect(t, s, first)
		}
		hangs := func(op string) error {
			if op == fmt.Sprint("advance ", log.LaneOf("a", 2)) {
				time.Sleep(3 * ttl)
				return errCut
			}
			return nil
		}
		i.link.fail.Store(&hangs)
		for _, payload := range series("b", 2, 60) {
			i.publish(payload)
			if d := fetch(t, s, time.Second); d == nil || text(d) != payload {
				t.Fatalf("%s did not come in time", payload)
			} else {
				d.Done()
			}
			time.Sleep(time.Second)
		}
		assert.EqualValues(t, 61, m.done(log.Cursor{Consumer: group, Lane: log.LaneOf("b", 2)}), "the cursor")
	})
}

// A partition whose lease cannot be taken has no messages, and the others are taken.
func TestALeaseFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := start(t, newMemory(), logsub.Config{Partitions: 2})
		require.NoError(t, i.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
		fails := func(op string) error {
			if op == "lease 0" {
				return errCut
			}
			return nil
		}
		i.link.fail.Store(&fails)
		i.publish("a#1", "b#1")
		expect(t, i.subscribe(20), map[int]string{0: "b#1", 1: "a#1"}[log.LaneOf("a", 2)])
	})
}

// hanging is a log whose releases get no answer.
type hanging struct{ log.Log }

func (hanging) Release(ctx context.Context, _ log.Lease) error {
	<-ctx.Done()
	return ctx.Err()
}

// A reset does not wait for ever for a server that answers no more.
func TestAResetEndsWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemory().connect().backend()
		backend.Log = hanging{backend.Log}
		hub, err := logsub.New(backend, one)
		require.NoError(t, err)
		require.NoError(t, hub.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
		ended := make(chan error, 1)
		go func() {
			_, err := hub.Reset(t.Context(), topic, group, bus.Place{}, false)
			ended <- err
		}()
		time.Sleep(time.Minute)
		select {
		case err := <-ended:
			assert.NoError(t, err)
		default:
			t.Fatal("the reset waits for a release without an answer")
		}
	})
}
