package logsub_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

func TestCursorWritesCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		ch := i.subscribe(100)
		i.publish("k#0")
		first := next(t, ch)
		time.Sleep(time.Second) // a pause: the next acknowledgement is written at once
		asked := time.Since(m.start)
		first.Done()
		synctest.Wait()
		if w := m.advances[lane0]; len(w) != 1 || w[0] != asked {
			t.Fatalf("a lone acknowledgement at %v was written at %v", asked, w)
		}
		for n := range 1000 { // one every millisecond
			i.publish(fmt.Sprintf("k#%d", n+1))
			next(t, ch).Done()
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		writes := len(m.advances[lane0])
		if writes < 40 || writes > 55 {
			t.Errorf("1000 acknowledgements in a second took %d writes, want about 50", writes)
		}
		within(t, 20*time.Millisecond, "the last write", func() bool { return m.done(lane0) == 1001 })
	})
}

// Partitions of one process are written together.
func TestCursorWritesOfLanesShareATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, logsub.Config{Partitions: 8})
		ch := i.subscribe(100)
		for n := range 64 {
			i.publish(fmt.Sprintf("key%d#1", n))
		}
		var out []driver.Delivery
		for range 64 {
			out = append(out, next(t, ch))
		}
		time.Sleep(time.Second)
		m.mu.Lock()
		before := m.commits
		m.mu.Unlock()
		for _, o := range out {
			o.Done()
		}
		time.Sleep(time.Second)
		m.mu.Lock()
		defer m.mu.Unlock()
		if n := m.commits - before; n < 1 || n > 3 {
			t.Errorf("64 acknowledgements on 8 partitions took %d transactions, want about 1", n)
		}
	})
}

// So are their last positions and the releases of their leases.
func TestClosingPartitionsShareATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, logsub.Config{Partitions: 64})
		ch := i.subscribe(100)
		for n := range 64 {
			i.publish(fmt.Sprintf("key%d#1", n))
		}
		var out []driver.Delivery
		for range 64 {
			out = append(out, next(t, ch))
		}
		time.Sleep(time.Second)
		m.mu.Lock()
		before := m.writes
		m.mu.Unlock()
		free := make(chan struct{}) // until then the database delays writers
		wait := func(op string) error {
			if op != "read" {
				<-free
			}
			return nil
		}
		i.link.fail.Store(&wait)
		for _, o := range out {
			o.Done()
		}
		closed := make(chan error, 1)
		go func() { closed <- ch.Close() }()
		synctest.Wait()
		close(free)
		require.NoError(t, <-closed)
		m.mu.Lock()
		defer m.mu.Unlock()
		for c, row := range m.cursors {
			assert.Equalf(t, "", row.holder, "%+v is still held", c)
		}
		// A commit under way, the position and the lease of the first lane, and those of all
		// others.
		if n := m.writes - before; n > 4 {
			t.Errorf("64 partitions took %d writes to close, want at most 4", n)
		}
	})
}

func TestOnlyThePrefixIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish(series("k", 1, 5)...)
		ch := i.subscribe(10)
		var out []driver.Delivery
		for range 5 {
			out = append(out, next(t, ch))
		}
		for _, n := range []int{0, 2, 4} { // 2 and 4 stay open
			out[n].Done()
		}
		require.NoError(t, ch.Close())
		require.EqualValues(t, 1, m.done(lane0), "the cursor")
		ch = i.subscribe(10)
		expect(t, ch, "k#2", "k#4")
	})
}

// An acknowledgement made before Close counts, even if it has not been processed yet.
func TestAckJustBeforeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		for n := range int64(50) {
			i.publish(fmt.Sprintf("k#%d", n))
			ch := i.subscribe(1)
			next(t, ch).Done()
			require.NoError(t, ch.Close())
			require.Equal(t, n+1, m.done(lane0), "the cursor")
		}
	})
}

// One unacknowledged message holds back the cursor; the number of messages ahead of it is
// bounded.
func TestSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, logsub.Config{Partitions: 1, Span: 50})
		i.publish(series("k", 1, 100)...)
		ch := i.subscribe(10)
		stuck := next(t, ch)
		expect(t, ch, series("k", 2, 50)...)
		silent(t, ch, time.Minute)
		stuck.Done()
		expect(t, ch, series("k", 51, 100)...)
	})
}

// A partition whose messages cannot be removed, as when its server is down, keeps no messages of
// others.
func TestPruningGoesOnBehindAPartitionThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, logsub.Config{Partitions: 1, Retention: time.Minute})
		failing := func(op string) error {
			if op == "prune 0" {
				return errCut
			}
			return nil
		}
		i.link.fail.Store(&failing)
		for _, name := range []string{"first", "second"} {
			require.NoError(t, i.Publisher().Publish(name, msg(name)))
		}
		time.Sleep(3 * time.Minute)
		m.mu.Lock()
		defer m.mu.Unlock()
		require.Len(t, m.entries, 1, "messages are left")
		assert.Equal(t, "first", m.entries[0].Topic)
	})
}

func TestDeclareAndPrune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, logsub.Config{})
		ctx := t.Context()
		spec := bus.Topic{Name: topic, Partitions: 2, Retention: 10 * time.Minute, Groups: []string{group, "slow"}}
		for range 2 {
			require.NoError(t, i.Declare(ctx, spec))
		}
		other := spec
		other.Partitions = 3
		assert.ErrorIs(t, i.Declare(ctx, other), logsub.ErrPartitions, "declaring another number of partitions")
		other.Partitions = 0
		assert.NoError(t, i.Declare(ctx, other), "declaring without a number")
		for _, bad := range []bus.Topic{{}, {Name: "t", Partitions: -1}, {Name: "t", Partitions: 1 << 20}, {Name: "t", Retention: -1}, {Name: "t", Groups: []string{""}}, {Name: "\xff"}} {
			assert.Errorf(t, i.Declare(ctx, bad), "%+v was accepted", bad)
		}
		left := func() int {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.entries)
		}
		i.publish(series("k", 1, 1200)...)
		ch := i.subscribe(10)
		expect(t, ch, series("k", 1, 1200)...)
		time.Sleep(15 * time.Minute)
		require.Equal(t, 1200, left(), "messages are left that group slow has not passed")
		ch, err := i.Source(ctx, topic, "slow", 10)
		require.NoError(t, err)
		expect(t, ch, series("k", 1, 1200)...)
		time.Sleep(time.Second) // their cursors are written
		i.publish("k#1201")
		time.Sleep(2 * time.Minute) // the first pruning after both groups have passed
		require.Equal(t, 1, left(), "messages are left after the retention, want the new one")
		lags, err := i.Lag(ctx)
		require.NoError(t, err)
		slices.SortFunc(lags, func(a, b bus.Lag) int { return b.Messages - a.Messages })
		if len(lags) != 2 || lags[0].Messages != 1 || lags[0].Oldest.IsZero() {
			t.Errorf("the lags are %+v", lags)
		}
	})
}
