package logsub_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

var one = logsub.Config{Partitions: 1}

// lane0 is the cursor of the only partition of the first topic.
var lane0 = log.Cursor{Consumer: group, Lane: 0}

func TestWindowBoundsWhatIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, logsub.Config{})
		for n := range 30 {
			i.publish(fmt.Sprintf("key%d#1", n))
		}
		ch := i.subscribe(7)
		var out []driver.Delivery
		for range 7 {
			out = append(out, next(t, ch))
		}
		silent(t, ch, time.Minute)
		out[3].Done() // any order
		next(t, ch).Done()
		out[0].Done()
		next(t, ch)
		next(t, ch)
		silent(t, ch, time.Minute)
	})
}

func TestNackIsRedeliveredBeforeItsSuccessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := start(t, newMemory(), one)
		i.publish(series("k", 1, 6)...)
		ch := i.subscribe(3)
		started := time.Now()
		for attempt := range 5 {
			var out []driver.Delivery
			for n := range 3 {
				m := next(t, ch)
				require.Equalf(t, fmt.Sprintf("k#%d", n+1), text(m), "attempt %d", attempt)
				out = append(out, m)
			}
			for _, n := range []int{1, 2, 0} { // any order
				out[n].Back()
			}
		}
		if took := time.Since(started); took < 50*time.Millisecond || took > time.Second {
			t.Errorf("five tries took %v; want a short, growing pause", took)
		}
		expect(t, ch, series("k", 1, 6)...)
	})
}

// A delivery's context has the values that the source was made with. It does not end when the
// source is closed; the unsettled messages are delivered to another member at once.
func TestCloseGivesUpWhatIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish(series("k", 1, 6)...)
		type key struct{}
		s, err := i.Source(context.WithValue(t.Context(), key{}, "value"), topic, group, 3)
		require.NoError(t, err)
		a, b, c := next(t, s), next(t, s), next(t, s)
		if a.Context().Value(key{}) != "value" {
			t.Error("the delivery's context lacks the values of the source's")
		}
		other := i.subscribe(3)
		silent(t, other, time.Minute) // the first member has the only partition
		a.Done()
		c.Done()
		require.NoError(t, s.Close())
		assert.NoError(t, b.Context().Err(), "the delivery's context ended with the source")
		b.Done() // late, and without an effect
		b.Back()
		if _, err := s.Fetch(t.Context(), 1); !errors.Is(err, driver.ErrEnded) {
			t.Errorf("Fetch after Close: %v, want %v", err, driver.ErrEnded)
		}
		expect(t, other, "k#2", "k#4", "k#5", "k#6")
	})
}

// Every call to the database fails now and then, and all of them for a while.
func TestDatabaseTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 100
		m := newMemory()
		cfg := logsub.Config{Partitions: 3}
		source, i := start(t, m, cfg), start(t, m, cfg)
		ch := i.subscribe(16)
		shaky := func(op string) error {
			if rand.IntN(3) == 0 {
				return fmt.Errorf("%s: %w", op, errCut)
			}
			return nil
		}
		i.link.fail.Store(&shaky)
		names := []string{"a", "b", "c", "d", "e"}
		var got []string
		want := map[string]bool{}
		for n := range each {
			for _, k := range names {
				p := fmt.Sprintf("%s#%d", k, n+1)
				source.publish(p)
				want[p] = true
			}
			if n == each/2 {
				i.link.cut.Store(true)
				time.Sleep(3 * ttl)
				i.link.cut.Store(false)
			}
		}
		for len(want) > 0 {
			m := next(t, ch)
			got = append(got, text(m))
			delete(want, text(m))
			m.Done()
		}
		inOrder(t, got, names, each)
		i.link.fail.Store(nil)
		within(t, time.Minute, "an empty backlog", func() bool {
			lags, err := source.Lag(t.Context())
			return err == nil && len(lags) == 1 && lags[0].Messages == 0
		})
	})
}

func TestCloseWithoutDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := start(t, newMemory(), one)
		i.publish("k#1")
		ch := i.subscribe(1)
		next(t, ch).Done()
		i.link.cut.Store(true)
		started := time.Now()
		assert.ErrorIs(t, ch.Close(), errCut, "Close without a database")
		if took := time.Since(started); took > 20*time.Second {
			t.Errorf("Close took %v", took)
		}
		if _, err := ch.Fetch(t.Context(), 1); !errors.Is(err, driver.ErrEnded) {
			t.Errorf("Fetch after Close: %v, want %v", err, driver.ErrEnded)
		}
	})
}

// A database that stalls for longer than closeTimeout still has the position, once it answers.
func TestCloseWaitsForAStalledDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish("k#1")
		ch := i.subscribe(1)
		msg := next(t, ch)
		stalled := make(chan struct{})
		wait := func(op string) error {
			<-stalled
			return nil
		}
		i.link.fail.Store(&wait)
		time.AfterFunc(12*time.Second, func() { close(stalled) })
		msg.Done()
		assert.NoError(t, ch.Close())
		m.mu.Lock()
		defer m.mu.Unlock()
		for c, row := range m.cursors {
			if row.holder != "" || row.last != 1 {
				t.Errorf("%+v is left as %+v", c, row)
			}
		}
	})
}

// A lease that could not be released expires, and nothing is handled again.
func TestCloseWithoutDatabaseAfterAllPositionsAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := start(t, newMemory(), one)
		i.publish("k#1")
		ch := i.subscribe(1)
		next(t, ch).Done()
		time.Sleep(ttl) // the position is written
		i.link.cut.Store(true)
		assert.NoError(t, ch.Close())
		i.link.cut.Store(false)
		i.publish("k#2")
		assert.Equal(t, "k#2", text(next(t, i.subscribe(1))))
	})
}

func TestSubscribeErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := start(t, newMemory(), one)
		for what, make := range map[string]func() error{
			"an empty group": func() error { _, err := i.Source(t.Context(), topic, "", 1); return err },
			"no window":      func() error { _, err := i.Source(t.Context(), topic, group, 0); return err },
			"an empty topic": func() error { _, err := i.Source(t.Context(), "", group, 1); return err },
		} {
			assert.Errorf(t, make(), "%s was accepted", what)
		}
		s := i.subscribe(1)
		require.NoError(t, i.Close())
		_, err1 := s.Fetch(t.Context(), 1)
		_, err2 := i.Source(t.Context(), topic, group, 1)
		err3 := i.Publisher().Publish(topic, msg("k#1"))
		for n, err := range []error{err1, err2, err3} {
			assert.ErrorIsf(t, err, logsub.ErrClosed, "%d: after Close", n)
		}
	})
}

func TestGroupsAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := start(t, newMemory(), logsub.Config{})
		var names, want []string
		for k := range 5 {
			names = append(names, fmt.Sprintf("key%d", k))
			want = append(want, series(names[k], 1, 4)...)
		}
		i.publish(want...)
		for _, g := range []string{"one", "two"} {
			ch, err := i.Source(t.Context(), topic, g, 4)
			require.NoError(t, err)
			var got []string
			for range want {
				m := next(t, ch)
				got = append(got, text(m))
				m.Done()
			}
			assert.Equalf(t, 0, inOrder(t, got, names, 4), "group %s: %v", g, got)
		}
	})
}
