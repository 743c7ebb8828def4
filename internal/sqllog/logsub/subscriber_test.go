package logsub_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/internal/sqllog/logsub"
)

var one = logsub.Config{Partitions: 1}

// lane0 is the cursor of the only partition of the first topic.
var lane0 = sqllog.Cursor{Consumer: group, Lane: 0}

func TestWindowBoundsWhatIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, logsub.Config{})
		for n := range 30 {
			i.publish(fmt.Sprintf("key%d#1", n))
		}
		_, ch := i.subscribe(7)
		var out []*message.Message
		for range 7 {
			out = append(out, next(t, ch))
		}
		silent(t, ch, time.Minute)
		out[3].Ack() // any order
		next(t, ch).Ack()
		out[0].Ack()
		next(t, ch)
		next(t, ch)
		silent(t, ch, time.Minute)
	})
}

func TestNackIsRedeliveredBeforeItsSuccessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := start(t, newMemory(), one)
		i.publish(series("k", 1, 6)...)
		_, ch := i.subscribe(3)
		started := time.Now()
		for attempt := range 5 {
			var out []*message.Message
			for n := range 3 {
				m := next(t, ch)
				if want := fmt.Sprintf("k#%d", n+1); string(m.Payload) != want {
					t.Fatalf("attempt %d: got %s, want %s", attempt, m.Payload, want)
				}
				out = append(out, m)
			}
			for _, n := range []int{1, 2, 0} { // any order
				out[n].Nack()
				<-out[n].Context().Done()
			}
		}
		if took := time.Since(started); took < 50*time.Millisecond || took > time.Second {
			t.Errorf("five tries took %v; want a short, growing pause", took)
		}
		expect(t, ch, series("k", 1, 6)...)
	})
}

func TestOnlyThePrefixIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish(series("k", 1, 5)...)
		sub, ch := i.subscribe(10)
		var out []*message.Message
		for range 5 {
			out = append(out, next(t, ch))
		}
		for _, n := range []int{0, 2, 4} { // 2 and 4 stay open
			out[n].Ack()
		}
		if err := sub.Close(); err != nil {
			t.Fatal(err)
		}
		if done := m.done(lane0); done != 1 {
			t.Fatalf("the cursor stands at %d, want 1", done)
		}
		for _, n := range []int{1, 3} {
			if out[n].Context().Err() == nil {
				t.Errorf("the context of unacknowledged message %d outlives Close", n+1)
			}
		}
		_, ch = i.subscribe(10)
		expect(t, ch, series("k", 2, 5)...)
	})
}

// An acknowledgement that was given before Close counts, even when nobody has
// looked at it yet.
func TestAckJustBeforeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		for n := range int64(50) {
			i.publish(fmt.Sprintf("k#%d", n))
			sub, ch := i.subscribe(1)
			next(t, ch).Ack()
			if err := sub.Close(); err != nil {
				t.Fatal(err)
			}
			if done := m.done(lane0); done != n+1 {
				t.Fatalf("the cursor stands at %d, want %d", done, n+1)
			}
		}
	})
}

func TestContextEndsTheIntakeOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish(series("k", 1, 6)...)
		sub, err := i.Subscriber(group, 3)
		if err != nil {
			t.Fatal(err)
		}
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		ch, err := sub.Subscribe(ctx, topic)
		if err != nil {
			t.Fatal(err)
		}
		a, b, c := next(t, ch), next(t, ch), next(t, ch)
		if a.Context().Value(key{}) != "value" {
			t.Error("the message's context lacks the subscription's values")
		}
		cancel()
		if _, open := <-ch; open {
			t.Fatal("a message came after the context ended")
		}
		if a.Context().Err() != nil {
			t.Error("the message's context ended with the subscription's")
		}
		// Somebody else of the group has to wait until what is out is settled.
		_, other := i.subscribe(3)
		silent(t, other, time.Minute)
		b.Ack()
		c.Nack()
		silent(t, other, time.Minute)
		a.Ack()
		expect(t, other, series("k", 3, 6)...)
	})
}

func TestCursorWritesCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		_, ch := i.subscribe(100)
		i.publish("k#0")
		first := next(t, ch)
		time.Sleep(time.Second) // a pause: the next acknowledgement is written at once
		asked := time.Since(m.start)
		first.Ack()
		synctest.Wait()
		if w := m.advances[lane0]; len(w) != 1 || w[0] != asked {
			t.Fatalf("a lone acknowledgement at %v was written at %v", asked, w)
		}
		for n := range 1000 { // one every millisecond
			i.publish(fmt.Sprintf("k#%d", n+1))
			next(t, ch).Ack()
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
		_, ch := i.subscribe(100)
		for n := range 64 {
			i.publish(fmt.Sprintf("key%d#1", n))
		}
		var out []*message.Message
		for range 64 {
			out = append(out, next(t, ch))
		}
		time.Sleep(time.Second)
		m.mu.Lock()
		before := m.commits
		m.mu.Unlock()
		for _, o := range out {
			o.Ack()
		}
		time.Sleep(time.Second)
		m.mu.Lock()
		defer m.mu.Unlock()
		if n := m.commits - before; n < 1 || n > 3 {
			t.Errorf("64 acknowledgements on 8 partitions took %d transactions, want about 1", n)
		}
	})
}

func TestIdleHolderKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := start(t, m, one), start(t, m, one)
		_, held := a.subscribe(1)
		time.Sleep(time.Second)
		_, standby := b.subscribe(1)
		time.Sleep(10 * time.Minute)
		a.publish("k#1")
		open := next(t, held) // stays open for long
		silent(t, standby, 10*time.Minute)
		if open.Context().Err() != nil {
			t.Error("the holder lost its lease")
		}
		open.Ack()
	})
}

func TestCloseHandsOverAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := start(t, m, one)
		sub, held := a.subscribe(2)
		a.publish(series("k", 1, 9)...)
		time.Sleep(time.Second) // it has the lease
		b := start(t, m, one)
		_, standby := b.subscribe(2)
		expect(t, held, series("k", 1, 4)...)
		silent(t, standby, time.Second)
		if err := sub.Close(); err != nil {
			t.Fatal(err)
		}
		b.WakeGroups() // what a watcher of the database does
		started := time.Now()
		expect(t, standby, "k#5")
		if took := time.Since(started); took > 100*time.Millisecond {
			t.Errorf("the standby took over after %v", took)
		}
		expect(t, standby, series("k", 6, 9)...)
	})
}

// An instance that is cut off like a killed process loses its partitions after
// the lease, and what it had not confirmed is delivered by another.
func TestTakeoverAfterCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := start(t, m, one), start(t, m, one)
		a.publish(series("k", 1, 10)...)
		_, held := a.subscribe(5)
		expect(t, held, series("k", 1, 3)...)
		within(t, time.Second, "the cursor", func() bool { return m.done(lane0) == 3 })
		lostOne := next(t, held)
		time.Sleep(time.Second)
		_, standby := b.subscribe(5)

		a.link.cut.Store(true)
		started := time.Now()
		expect(t, standby, "k#4")
		if took := time.Since(started); took < ttl/2 || took > ttl+2*time.Second {
			t.Errorf("taken over after %v, want about %v", took, ttl)
		}
		// The dead one comes back: it is fenced, and its acknowledgements are void.
		lostOne.Ack()
		a.link.cut.Store(false)
		expect(t, standby, "k#5")
		within(t, time.Second, "the cursor", func() bool { return m.done(lane0) == 5 })
		time.Sleep(time.Minute)
		if done := m.done(lane0); done != 5 {
			t.Errorf("the cursor stands at %d, want 5", done)
		}
		expect(t, standby, series("k", 6, 10)...)
	})
}

// A holder that sleeps through the end of its lease moves nothing, hands out
// nothing that it has read ahead, and ends the contexts of what it handed out.
func TestStalledHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := start(t, m, one), start(t, m, one)
		a.publish(series("k", 1, 40)...)
		_, held := a.subscribe(10)
		stale := next(t, held)
		time.Sleep(time.Second)
		_, standby := b.subscribe(10)

		a.link.cut.Store(true)
		time.Sleep(ttl + time.Second)
		expect(t, standby, series("k", 1, 20)...)
		stale.Ack()
		silent(t, held, time.Minute)
		a.link.cut.Store(false)
		<-stale.Context().Done()
		silent(t, held, time.Minute)
		within(t, time.Second, "the cursor", func() bool { return m.done(lane0) == 20 })
		// It is a standby from now on.
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		a.WakeGroups()
		expect(t, held, series("k", 21, 40)...)
	})
}

func TestMessageContextEndsWhenTheLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := start(t, m, one)
		a.publish("k#1")
		_, ch := a.subscribe(1)
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
		if string(again.Payload) != "k#1" {
			t.Errorf("got %s", again.Payload)
		}
		again.Ack()
	})
}

func TestPartitionsAreSharedFairly(t *testing.T) {
	for _, partitions := range []int{1, 3, 4, 12} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				cfg := logsub.Config{Partitions: partitions}
				var members []*instance
				// Equal parts; the first ones get what is left over.
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
					for range 60 { // and it stays so
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
					if err := members[0].Close(); err != nil {
						t.Fatal(err)
					}
					members = members[1:]
					check("one left")
				}
				// A killed one is noticed after its time.
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

// Members come and go while messages flow and handlers take their time: nothing
// is lost, the order of keys holds over members, and since nobody crashes,
// nothing comes twice.
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
			sub, err := i.Subscriber(group, 8)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ch, err := sub.Subscribe(ctx, topic)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				for msg := range ch {
					mu.Lock()
					got = append(got, string(msg.Payload))
					mu.Unlock()
					wg.Go(func() {
						time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
						msg.Ack()
					})
				}
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

// Every call to the database fails now and then, and all of them for a while.
func TestDatabaseTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 100
		m := newMemory()
		cfg := logsub.Config{Partitions: 3}
		source, i := start(t, m, cfg), start(t, m, cfg)
		_, ch := i.subscribe(16)
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
			got = append(got, string(m.Payload))
			delete(want, string(m.Payload))
			m.Ack()
		}
		inOrder(t, got, names, each)
		i.link.fail.Store(nil)
		within(t, time.Minute, "an empty backlog", func() bool {
			lags, err := source.Lag(t.Context())
			return err == nil && len(lags) == 1 && lags[0].Messages == 0
		})
	})
}

// One message that nobody acknowledges holds back the cursor; what may get
// ahead of it is bounded.
func TestSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, logsub.Config{Partitions: 1, Span: 50})
		i.publish(series("k", 1, 100)...)
		_, ch := i.subscribe(10)
		stuck := next(t, ch)
		expect(t, ch, series("k", 2, 50)...)
		silent(t, ch, time.Minute)
		stuck.Ack()
		expect(t, ch, series("k", 51, 100)...)
	})
}

func TestCloseWithoutDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := start(t, newMemory(), one)
		i.publish("k#1")
		sub, ch := i.subscribe(1)
		next(t, ch).Ack()
		i.link.cut.Store(true)
		started := time.Now()
		if err := sub.Close(); !errors.Is(err, errCut) {
			t.Errorf("Close without a database: %v, want %v", err, errCut)
		}
		if took := time.Since(started); took > 20*time.Second {
			t.Errorf("Close took %v", took)
		}
		if _, open := <-ch; open {
			t.Error("the channel is open after Close")
		}
	})
}

func TestSubscribeErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := start(t, newMemory(), one)
		for what, make := range map[string]func() error{
			"an empty group": func() error { _, err := i.Subscriber("", 1); return err },
			"no window":      func() error { _, err := i.Subscriber(group, 0); return err },
			"an empty topic": func() error {
				s, err := i.Subscriber(group, 1)
				if err != nil {
					return nil
				}
				_, err = s.Subscribe(t.Context(), "")
				return err
			},
		} {
			if make() == nil {
				t.Errorf("%s was accepted", what)
			}
		}
		sub, ch := i.subscribe(1)
		if err := i.Close(); err != nil {
			t.Fatal(err)
		}
		if _, open := <-ch; open {
			t.Error("the channel is open after the hub was closed")
		}
		_, err1 := sub.Subscribe(t.Context(), topic)
		_, err2 := i.Subscriber(group, 1)
		err3 := i.Publisher().Publish(topic, msg("k#1"))
		for n, err := range []error{err1, err2, err3} {
			if !errors.Is(err, logsub.ErrClosed) {
				t.Errorf("%d: after Close: %v, want %v", n, err, logsub.ErrClosed)
			}
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
			sub, err := i.Subscriber(g, 4)
			if err != nil {
				t.Fatal(err)
			}
			ch, err := sub.Subscribe(t.Context(), topic)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for range want {
				m := next(t, ch)
				got = append(got, string(m.Payload))
				m.Ack()
			}
			if inOrder(t, got, names, 4) != 0 {
				t.Errorf("group %s: %v", g, got)
			}
		}
	})
}

func TestDeclareAndPrune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, logsub.Config{})
		ctx := t.Context()
		spec := logsub.Spec{Name: topic, Partitions: 2, Retention: 10 * time.Minute, Groups: []string{group, "slow"}}
		for range 2 {
			if err := i.Declare(ctx, spec); err != nil {
				t.Fatal(err)
			}
		}
		other := spec
		other.Partitions = 3
		if err := i.Declare(ctx, other); !errors.Is(err, logsub.ErrPartitions) {
			t.Errorf("declaring another number of partitions: %v, want %v", err, logsub.ErrPartitions)
		}
		other.Partitions = 0
		if err := i.Declare(ctx, other); err != nil {
			t.Errorf("declaring without a number: %v", err)
		}
		for _, bad := range []logsub.Spec{{}, {Name: "t", Partitions: -1}, {Name: "t", Partitions: 1 << 20}, {Name: "t", Retention: -1}, {Name: "t", Groups: []string{""}}, {Name: "\xff"}} {
			if i.Declare(ctx, bad) == nil {
				t.Errorf("%+v was accepted", bad)
			}
		}
		left := func() int {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.entries)
		}
		i.publish(series("k", 1, 1200)...)
		_, ch := i.subscribe(10)
		expect(t, ch, series("k", 1, 1200)...)
		time.Sleep(15 * time.Minute)
		if left() != 1200 {
			t.Fatalf("%d messages are left that group slow has not passed, want 1200", left())
		}
		slow, err := i.Subscriber("slow", 10)
		if err != nil {
			t.Fatal(err)
		}
		if ch, err = slow.Subscribe(ctx, topic); err != nil {
			t.Fatal(err)
		}
		expect(t, ch, series("k", 1, 1200)...)
		time.Sleep(time.Second) // their cursors are written
		i.publish("k#1201")
		time.Sleep(2 * time.Minute) // the first pruning after both have passed
		if left() != 1 {
			t.Fatalf("%d messages are left after the retention, want the new one", left())
		}
		lags, err := i.Lag(ctx)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(lags, func(a, b logsub.Lag) int { return b.Messages - a.Messages })
		if len(lags) != 2 || lags[0].Messages != 1 || lags[0].Oldest.IsZero() {
			t.Errorf("the lags are %+v", lags)
		}
	})
}
