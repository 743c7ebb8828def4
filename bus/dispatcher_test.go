package bus_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
)

func dispatch(t *testing.T, source message.Subscriber, cfg bus.SubscriberConfig) (message.Subscriber, <-chan *message.Message) {
	t.Helper()
	d := subscriber(t, source, cfg)
	ch, err := d.Subscribe(context.Background(), "t")
	require.NoError(t, err)
	return d, ch
}

// subscriber returns the engine's subscriber of a transport whose messages come from source.
func subscriber(t *testing.T, source message.Subscriber, cfg bus.SubscriberConfig) message.Subscriber {
	t.Helper()
	d, err := bus.New("feed", feedDriver{memBus(t).Driver(), source}).Subscriber("g", cfg)
	require.NoError(t, err)
	return d
}

func closeOK(t *testing.T, d message.Subscriber) {
	t.Helper()
	assert.NoError(t, d.Close())
}

func TestOnePerKeyAndAtMostConcurrencyAreOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		f.put(keyed("a", 1), keyed("a", 2), keyed("b", 1), keyed("", 1), keyed("", 2), keyed("c", 1), keyed("d", 1))
		d, ch := dispatch(t, f, bus.SubscriberConfig{Concurrency: 4})
		out := drain(ch)
		assert.Equal(t, "a#1 b#1 #1 c#1", ids(out), "out at once")
		out[0].Ack()
		if got := ids(drain(ch)); got != "d#1" {
			t.Errorf("after a#1: %s; a key that was served goes to the end of the line", got)
		}
		out[1].Ack()
		assert.Equal(t, "a#2", ids(drain(ch)), "after b#1")
		out[2].Ack()
		if got := ids(drain(ch)); got != "#2" {
			t.Errorf("after #1: %s; messages without a key are one key", got)
		}
		assert.Equal(t, "a#1:ack a#2:open b#1:ack #1:ack #2:open c#1:open d#1:open", f.answers(), "the source saw")
		closeOK(t, d)
	})
}

func TestWindowBoundsWhatIsTakenFromTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		for n := range 100 {
			f.put(keyed("k", n))
		}
		d, ch := dispatch(t, f, bus.SubscriberConfig{Concurrency: 2, Window: 10})
		out := drain(ch)
		assert.Equal(t, 90, len(f.ch), "of 100 messages are left in the source")
		out[0].Ack()
		drain(ch)
		assert.Equal(t, 89, len(f.ch), "are left after one was acknowledged")
		closeOK(t, d)
	})
}

func TestNackRedeliversAfterBackoffAndHoldsTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, begin := newFeed(), time.Now()
		f.put(keyed("a", 1), keyed("a", 2))
		d, ch := dispatch(t, f, bus.SubscriberConfig{Concurrency: 1, Redelivery: exact})
		for attempt, at := range []time.Duration{0, 1, 3, 7} {
			m := <-ch
			if m.UUID != "a#1" || time.Since(begin) != at*time.Second {
				t.Fatalf("attempt %d: %s after %s, want a#1 after %s", attempt+1, m.UUID, time.Since(begin), at*time.Second)
			}
			f.put(keyed(fmt.Sprint("other", attempt), 1))
			synctest.Wait() // it is queued before a is
			if attempt == 3 {
				m.Ack()
				break
			}
			m.Nack()
			o := <-ch // while a waits
			if o.UUID != fmt.Sprintf("other%d#1", attempt) || time.Since(begin) != at*time.Second {
				t.Fatalf("got %s after %s; other keys must not wait", o.UUID, time.Since(begin))
			}
			o.Ack()
		}
		require.Equal(t, "other3#1", ids(drain(ch)))
		if got := f.answers(); strings.Contains(got, "nack") {
			t.Errorf("a nack of the copy reached the source: %s", got)
		}
		closeOK(t, d)
	})
}

func TestTheCopyIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		f.put(keyed("a", 1))
		d, ch := dispatch(t, f, bus.SubscriberConfig{})
		m := <-ch
		m.Payload[0] = 'X'
		m.Metadata.Set("more", "x")
		m.Nack()
		m = <-ch
		if string(m.Payload) != "a#1" || len(m.Metadata) != 1 || m.Metadata.Get(event.KeyHeader) != "a" {
			t.Errorf("redelivered as %q %v", m.Payload, m.Metadata)
		}
		m.Ack()
		closeOK(t, d)
	})
}

// A transport takes a message back by ending its context, when a lease or a partition moves to
// another instance.
func TestRevokedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		d, ch := dispatch(t, f, bus.SubscriberConfig{Redelivery: exact})
		lease, revoke := context.WithCancel(context.Background())
		leased := func(key string, n int) *message.Message {
			m := keyed(key, n)
			m.SetContext(lease)
			return m
		}
		f.put(leased("a", 1), leased("a", 2), leased("b", 1))
		out := drain(ch)
		require.Equal(t, "a#1 b#1", ids(out), "out")
		out[1].Nack() // b waits for its redelivery
		synctest.Wait()
		revoke()
		synctest.Wait()
		assert.ErrorIs(t, context.Cause(out[0].Context()), driver.ErrRevoked, "the handler of a revoked message sees")
		f.put(keyed("a", 1), keyed("b", 1)) // the transport redelivers
		if got := drain(ch); len(got) != 0 {
			t.Errorf("%s came while a#1 was still being handled", ids(got))
		}
		out[0].Nack()
		time.Sleep(time.Minute)
		if got := ids(drain(ch)); got != "a#1 b#1" && got != "b#1 a#1" {
			t.Errorf("after the revocation: %s, want each of the new ones once", got)
		}
		closeOK(t, d)
		assert.Equal(t, "a#1:nack a#2:nack b#1:nack a#1:nack b#1:nack", f.answers(), "the source saw")
	})
}

func TestGoroutinesAreBoundedByConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		for n := range 5000 {
			f.put(keyed(fmt.Sprint(n), 1))
		}
		d, ch := dispatch(t, f, bus.SubscriberConfig{Concurrency: 4, Window: 4000})
		require.Equal(t, 4, len(drain(ch)), "are out")
		assert.Equal(t, 4+2, ours(), "goroutines for 4 messages out and 4000 held, want a worker each, one that fetches and one that waits for the end")
		closeOK(t, d)
		synctest.Wait()
		assert.Equal(t, 0, ours(), "goroutines are left after Close")
	})
}

func TestOverAForeignSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &partitioned{stop: make(chan struct{})}
		want := map[string][]string{}
		for part := range 3 {
			var all []*message.Message
			for n := 1; n <= 20; n++ {
				m := keyed(fmt.Sprintf("p%d-%d", part, n%2), n)
				all = append(all, m)
				want[event.Key(m)] = append(want[event.Key(m)], m.UUID)
			}
			p.partitions = append(p.partitions, all)
		}
		d, ch := dispatch(t, p, bus.SubscriberConfig{Redelivery: exact})
		got := map[string][]string{}
		nacked := map[string]bool{}
		for total := 0; total < 60; {
			m := <-ch
			if len(m.UUID)%2 == 0 && !nacked[m.UUID] {
				nacked[m.UUID] = true
				m.Nack()
				continue
			}
			got[event.Key(m)] = append(got[event.Key(m)], m.UUID)
			m.Ack()
			total++
		}
		synctest.Wait()
		for key := range want {
			if !slices.Equal(got[key], want[key]) {
				t.Errorf("key %s: %v", key, got[key])
			}
		}
		if len(p.acked) != 60 {
			t.Errorf("the source saw %d acknowledgements of 60", len(p.acked))
		}
		closeOK(t, d)
	})
}

func TestSubscriberConfigErrorsNameTheField(t *testing.T) {
	b := memBus(t)
	for want, cfg := range map[string]bus.SubscriberConfig{
		"Concurrency is -1":              {Concurrency: -1},
		"Window is -1":                   {Window: -1},
		"Window is 2, below Concurrency": {Window: 2, Concurrency: 3},
		"DrainTimeout is -1s":            {DrainTimeout: -time.Second},
		"Redelivery: Jitter is 3":        {Redelivery: bus.Backoff{Jitter: 3}},
	} {
		if _, err := b.Subscriber("g", cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Subscriber(%+v): %v, want %q", cfg, err, want)
		}
	}
	if _, err := b.Subscriber("", bus.SubscriberConfig{}); err == nil || !strings.Contains(err.Error(), "group is empty") {
		t.Errorf("no group: %v", err)
	}
}
