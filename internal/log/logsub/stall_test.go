package logsub_test

import (
	"context"
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
