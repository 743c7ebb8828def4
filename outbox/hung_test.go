package outbox_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// hanging is a publisher whose calls with a matching event do not return until they are
// released, regardless of their messages' contexts.
type hanging struct {
	*outboxtest.Publisher
	match func(topic, name string) bool

	mu       sync.Mutex
	hung     []*message.Message // the first of each call that hung
	now      int                // how many hang
	released chan struct{}
}

func hangOn(p *outboxtest.Publisher, match func(topic, name string) bool) *hanging {
	return &hanging{Publisher: p, match: match, released: make(chan struct{})}
}

func (h *hanging) Publish(topic string, msgs ...*message.Message) error {
	for _, m := range msgs {
		e, err := event.Decode(m)
		if err != nil {
			return err
		}
		if h.match(topic, name(e)) {
			h.mu.Lock()
			h.hung, h.now = append(h.hung, m), h.now+1
			h.mu.Unlock()
			<-h.released
			h.mu.Lock()
			h.now--
			h.mu.Unlock()
		}
	}
	return h.Publisher.Publish(topic, msgs...)
}

func (h *hanging) calls() (all []*message.Message, now int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.hung), h.now
}

// on starts a relay of the bench with another publisher.
func (b *bench) on(pub message.Publisher, cfg outbox.RelayConfig) (stop func() error) {
	b.t.Helper()
	r, err := outbox.NewRelay(b.store, pub, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return func() error { cancel(); return <-done }
}

// TestHungPublisherGivesTheLeaseUp has one event with which the publisher of one relay hangs
// for ever, and a healthy standby.
func TestHungPublisherGivesTheLeaseUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a", "b", "bad", "c")
		sick := &outboxtest.Publisher{}
		hang := hangOn(sick, func(_, n string) bool { return n == "bad1" })
		log := newLines()
		type report struct {
			shard int
			topic string
			age   time.Duration
		}
		var reports []report
		stopSick := b.on(hang, outbox.RelayConfig{Chunk: 1, Lanes: 1, Holder: "sick", Logger: log.logger(), Hooks: outbox.Hooks{
			Hung: func(shard int, topic string, age time.Duration) { reports = append(reports, report{shard, topic, age}) }}})
		synctest.Wait()
		stopHeir := b.on(b.pub, outbox.RelayConfig{Holder: "heir", Lanes: 1})

		time.Sleep(30*time.Second - time.Millisecond)
		synctest.Wait()
		if n := len(b.order()); n != 0 {
			t.Errorf("the standby published %d events before the timeout", n)
		}
		time.Sleep(time.Second + time.Millisecond) // the standby's interval
		synctest.Wait()
		if got := strings.Join(b.order(), " "); got != "bad1 c1" {
			t.Errorf("the standby published %q, want bad1 c1: what was confirmed before is settled", got)
		}
		if len(reports) != 1 || reports[0] != (report{0, "t", 30 * time.Second}) {
			t.Errorf("the hook got %v, want one call of 30 s", reports)
		}
		told := log.with("does not return from Publish")
		if len(told) != 1 {
			t.Fatalf("%d lines tell of the call, want one of %v", len(told), log.all())
		}
		all, _ := hang.calls()
		for name, want := range map[string]string{"shard": "0", "topic": "t", "age": "30s", "event_id": all[0].UUID} {
			if told[0][name] != want {
				t.Errorf("the line's %s is %q, want %q", name, told[0][name], want)
			}
		}
		if cause := context.Cause(all[0].Context()); !hung(cause) {
			t.Errorf("the message's context ended with %v, want that the publisher does not return", cause)
		}

		// The sick relay does not return before its call has returned.
		assert.NoError(t, stopHeir())
		b.append("d")
		time.Sleep(time.Hour)
		if all, now := hang.calls(); len(all) != 1 || now != 1 {
			t.Errorf("%d calls hung, %d of them still; want no further one beside the first", len(all), now)
		}
		close(hang.released)
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(sick.Published()); n != 4 { // a, b, bad late, d
			t.Errorf("the relay whose call returned has published %d events, want 4", n)
		}
		assert.NoError(t, stopSick(), "Run")
	})
}

// TestHungShardStopsNoOther has one relay with two shards.
func TestHungShardStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 4)
		hang := hangOn(b.pub, func(_, n string) bool { return strings.HasPrefix(n, "k000-") })
		stop := b.on(hang, outbox.RelayConfig{})
		for range 100 {
			b.append(keysOf(20)...)
			time.Sleep(10 * time.Second)
		}
		behind := map[int]bool{}
		st, err := b.store.Stats(t.Context())
		require.NoError(t, err)
		for _, s := range st {
			if s.Backlog > 0 {
				behind[s.Shard] = true
			}
		}
		assert.Lenf(t, behind, 1, "shards %v are behind, want the one whose publisher hangs", behind)
		if _, now := hang.calls(); now != 1 {
			t.Errorf("%d calls hang, want 1", now)
		}
		close(hang.released)
		assert.NoError(t, stop(), "Run")
	})
}

// TestRunEndsBesideAHungPublisher stops a relay before and after PublishTimeout.
func TestRunEndsBesideAHungPublisher(t *testing.T) {
	for _, c := range []struct {
		name  string
		cfg   outbox.RelayConfig
		after time.Duration // when the context of Run ends
		most  time.Duration // how long Run may then take
	}{
		{"while the call may last", outbox.RelayConfig{PublishTimeout: time.Hour, ShutdownTimeout: 5 * time.Second}, time.Second, 7 * time.Second},
		{"the call ends first", outbox.RelayConfig{PublishTimeout: 2 * time.Second}, time.Second, 3 * time.Second},
		{"after the lease was given up", outbox.RelayConfig{}, time.Minute, time.Second},
		{"beside the dead letter", outbox.RelayConfig{MaxRetries: 1, DeadLetter: toDLT}, time.Minute, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 2)
				hang := hangOn(b.pub, func(topic, n string) bool {
					return n == "bad1" && (c.cfg.DeadLetter == nil || strings.HasSuffix(topic, ".DLT"))
				})
				if c.cfg.DeadLetter != nil {
					b.pub.Fail = func(topic string, e event.Event) error {
						if topic == "t" && name(e) == "bad1" {
							return errRefused
						}
						return nil
					}
				}
				b.append("good")
				c.cfg.Chunk = 1
				stop := b.on(hang, c.cfg)
				b.append("bad")
				time.Sleep(c.after)
				start := time.Now()
				err := stop()
				if took := time.Since(start); took > c.most {
					t.Errorf("Run returned %v after its end, want %v at most", took, c.most)
				}
				if !hung(err) || !strings.Contains(fmt.Sprint(err), "*outbox_test.hanging") {
					t.Errorf("Run returned %v, want that it does not return, and the publisher's name", err)
				}
				if got := b.order(); !slices.Contains(got, "good1") {
					t.Errorf("published %v, want good1", got)
				}
				all, now := hang.calls()
				if now != 1 || all[0].Context().Err() == nil {
					t.Errorf("%d calls hang, the first with %v; want one whose message is cancelled", now, all[0].Context().Err())
				}
				if st, _ := b.store.Stats(t.Context()); st[0].Holder+st[1].Holder != "" {
					t.Error("the lease was not given up")
				}
				close(hang.released)
			})
		})
	}
}

// TestSlowPublisherKeepsTheLease: each call takes just less than the timeout.
func TestSlowPublisherKeepsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		var hung, lost atomic.Int64
		b.pub.Fail = func(string, event.Event) error { time.Sleep(29 * time.Second); return nil }
		b.append(keysOf(20)...)
		stop := b.start(outbox.RelayConfig{Chunk: 1, Hooks: outbox.Hooks{
			Hung:  func(int, string, time.Duration) { hung.Add(1) },
			Lease: func(_ int, held bool) { lost.Add(map[bool]int64{false: 1}[held]) },
		}})
		time.Sleep(10 * time.Minute)
		if hung.Load() != 0 || lost.Load() != 0 || len(b.order()) != 20 || outboxtest.Duplicates(b.pub.Published()) != 0 {
			t.Errorf("%d calls were reported, %d leases given up, %v published; want each of the 20 once", hung.Load(), lost.Load(), b.order())
		}
		stop()
	})
}

// TestSlowPublisherGetsSmallerCalls: each message takes a second, so a call of 100 messages
// takes longer than the timeout.
func TestSlowPublisherGetsSmallerCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append(keysOf(500)...)
		var hung atomic.Int64
		var most atomic.Int64
		pub := publisherFunc(func(topic string, msgs ...*message.Message) error {
			most.Store(max(most.Load(), int64(len(msgs))))
			time.Sleep(time.Duration(len(msgs)) * time.Second)
			return b.pub.Publish(topic, msgs...)
		})
		stop := b.on(pub, outbox.RelayConfig{Lanes: 1, Hooks: outbox.Hooks{Hung: func(int, string, time.Duration) { hung.Add(1) }}})
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		seen := map[string]bool{}
		for _, n := range b.order() {
			seen[n] = true
		}
		if len(seen) != 500 || hung.Load() == 0 || hung.Load() > 2 || most.Load() != 100 {
			t.Errorf("%d of 500 events were published, %d calls hung, the largest had %d messages; want all after 2 that hung at most",
				len(seen), hung.Load(), most.Load())
		}
		assert.NoError(t, stop(), "Run")
	})
}

// TestPublisherExits: a publisher that ends its goroutine has not confirmed.
func TestPublisherExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a")
		var tries atomic.Int64
		pub := publisherFunc(func(topic string, msgs ...*message.Message) error {
			if tries.Add(1) == 1 {
				runtime.Goexit()
			}
			return b.pub.Publish(topic, msgs...)
		})
		stop := b.on(pub, outbox.RelayConfig{})
		time.Sleep(5 * time.Second)
		if err := stop(); err != nil || len(b.order()) != 1 || tries.Load() != 2 {
			t.Errorf("Run: %v, published %v at try %d; want a1 at the second", err, b.order(), tries.Load())
		}
	})
}

func hung(err error) bool { return says(err, "outbox: the publisher does not return from Publish") }

func says(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
