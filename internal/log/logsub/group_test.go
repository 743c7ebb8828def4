package logsub_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

func TestIdleHolderKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := start(t, m, one), start(t, m, one)
		held := a.subscribe(1)
		time.Sleep(time.Second)
		standby := b.subscribe(1)
		time.Sleep(10 * time.Minute)
		a.publish("k#1")
		open := next(t, held) // stays open for a long time
		silent(t, standby, 10*time.Minute)
		assert.NoError(t, open.Context().Err(), "the holder lost its lease")
		open.Done()
	})
}

func TestCloseHandsOverAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := start(t, m, one)
		held := a.subscribe(2)
		a.publish(series("k", 1, 9)...)
		time.Sleep(time.Second) // it has the lease
		b := start(t, m, one)
		standby := b.subscribe(2)
		expect(t, held, series("k", 1, 4)...)
		silent(t, standby, time.Second)
		require.NoError(t, held.Close())
		b.WakeGroups() // as a watcher of the database does
		started := time.Now()
		expect(t, standby, "k#5")
		if took := time.Since(started); took > 100*time.Millisecond {
			t.Errorf("the standby took over after %v", took)
		}
		expect(t, standby, series("k", 6, 9)...)
	})
}

// An instance that is cut off like a killed process loses its partitions when the lease expires,
// and its uncommitted messages are delivered by another.
func TestTakeoverAfterCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := start(t, m, one), start(t, m, one)
		a.publish(series("k", 1, 10)...)
		held := a.subscribe(5)
		expect(t, held, series("k", 1, 3)...)
		within(t, time.Second, "the cursor", func() bool { return m.done(lane0) == 3 })
		lostOne := next(t, held)
		time.Sleep(time.Second)
		standby := b.subscribe(5)

		a.link.cut.Store(true)
		started := time.Now()
		expect(t, standby, "k#4")
		if took := time.Since(started); took < ttl/2 || took > ttl+2*time.Second {
			t.Errorf("taken over after %v, want about %v", took, ttl)
		}
		// The dead instance returns: it is fenced, and its acknowledgements have no effect.
		lostOne.Done()
		a.link.cut.Store(false)
		expect(t, standby, "k#5")
		within(t, time.Second, "the cursor", func() bool { return m.done(lane0) == 5 })
		time.Sleep(time.Minute)
		assert.EqualValues(t, 5, m.done(lane0), "the cursor")
		expect(t, standby, series("k", 6, 10)...)
	})
}

// A holder that sleeps past the end of its lease moves no cursor, hands out no message that it
// has read ahead, and ends the contexts of those it handed out.
func TestStalledHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := start(t, m, one), start(t, m, one)
		a.publish(series("k", 1, 40)...)
		held := a.subscribe(10)
		stale, open := next(t, held), next(t, held)
		time.Sleep(time.Second)
		standby := b.subscribe(10)

		a.link.cut.Store(true)
		time.Sleep(ttl + time.Second)
		expect(t, standby, series("k", 1, 20)...)
		stale.Done()
		silent(t, held, time.Minute)
		a.link.cut.Store(false)
		<-open.Context().Done()
		assert.ErrorIs(t, context.Cause(open.Context()), driver.ErrRevoked, "the context ended with")
		silent(t, held, time.Minute)
		within(t, time.Second, "the cursor", func() bool { return m.done(lane0) == 20 })
		// The former holder is a standby from now on.
		require.NoError(t, b.Close())
		a.WakeGroups()
		expect(t, held, series("k", 21, 40)...)
	})
}

func TestMessageContextEndsWhenTheLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := start(t, m, one)
		a.publish("k#1")
		ch := a.subscribe(1)
		open := next(t, ch)
		m.mu.Lock()
		row := m.cursors[lane0]
		row.token, row.holder, row.until = row.token+1, "somebody", time.Now().Add(time.Minute)
		m.cursors[lane0] = row
		m.mu.Unlock()
		started := time.Now()
		<-open.Context().Done()
		if took := time.Since(started); took > ttl/2 {
			t.Errorf("it took %v to notice", took)
		}
		again := next(t, ch)
		assert.Equal(t, "k#1", text(again))
		again.Done()
	})
}

func TestPartitionsAreSharedFairly(t *testing.T) {
	for _, partitions := range []int{1, 3, 4, 12} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				cfg := logsub.Config{Partitions: partitions}
				var members []*instance
				// Equal parts; the first members get the remainder.
				fair := func() bool {
					var want []int
					for rank := range min(partitions, len(members)) {
						n := partitions / len(members)
						if rank < partitions%len(members) {
							n++
						}
						want = append(want, n)
					}
					slices.Sort(want)
					return slices.Equal(counts(m.holders(group)), want)
				}
				check := func(what string) {
					t.Helper()
					for deadline := time.Now().Add(2 * time.Second); !fair() && time.Now().Before(deadline); {
						for _, i := range members {
							i.WakeGroups()
						}
						time.Sleep(50 * time.Millisecond)
					}
					for range 60 { // the shares stay fair
						if !fair() {
							t.Fatalf("%s: %d members hold %v of %d partitions", what, len(members), counts(m.holders(group)), partitions)
						}
						time.Sleep(time.Second)
					}
				}
				for n := range 5 {
					i := start(t, m, cfg)
					i.subscribe(10)
					members = append(members, i)
					check(fmt.Sprint(n+1, " joined"))
				}
				for len(members) > 1 { // the oldest first: ranks move up
					require.NoError(t, members[0].Close())
					members = members[1:]
					check("one left")
				}
				// A killed member is noticed after its time is over.
				i := start(t, m, cfg)
				i.subscribe(10)
				members = append(members, i)
				check("one more")
				members[0].link.cut.Store(true)
				members = members[1:]
				time.Sleep(ttl + 2*time.Second)
				check("one was killed")
			})
		})
	}
}

// Members join and leave while messages flow and handlers work: no message is lost, the order of
// keys holds over members, and since no member crashes, no message is repeated.
func TestHandOverKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, each = 10, 150
		m := newMemory()
		cfg := logsub.Config{Partitions: 4}
		source := start(t, m, cfg)
		var mu sync.Mutex
		var got []string
		var wg sync.WaitGroup
		consume := func() (stop func()) {
			i := start(t, m, cfg)
			s := i.subscribe(8)
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(func() {
				var handlers sync.WaitGroup
				for {
					deliveries, err := s.Fetch(ctx, 3)
					if err != nil {
						break
					}
					for _, d := range deliveries {
						mu.Lock()
						got = append(got, text(d))
						mu.Unlock()
						handlers.Go(func() {
							time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
							d.Done()
						})
					}
				}
				handlers.Wait()
				assert.NoError(t, s.Close())
			})
			return cancel
		}
		var names []string
		for k := range keys {
			names = append(names, fmt.Sprintf("key%d", k))
		}
		stops := []func(){consume()}
		for n := range each {
			for _, k := range names {
				source.publish(fmt.Sprintf("%s#%d", k, n+1))
			}
			time.Sleep(20 * time.Millisecond)
			switch {
			case n%12 == 5:
				stops = append(stops, consume())
			case n%12 == 11 && len(stops) > 1:
				stops[0]()
				stops = stops[1:]
			}
		}
		within(t, 2*time.Minute, "everything", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(got) >= keys*each
		})
		for _, stop := range stops {
			stop()
		}
		wg.Wait()
		if repeats := inOrder(t, got, names, each); repeats > 0 {
			t.Errorf("%d messages came twice", repeats)
		}
	})
}
