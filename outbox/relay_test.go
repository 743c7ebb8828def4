package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

var errRefused = errors.New("refused")

// refuse makes the publisher fail the events that match.
func (b *bench) refuse(err error, match func(name string) bool) {
	b.pub.Fail = func(_ string, e event.Event) error {
		if match(name(e)) {
			return err
		}
		return nil
	}
}

func is(names ...string) func(string) bool {
	return func(n string) bool { return slices.Contains(names, n) }
}

// counted counts the store's operations.
func (b *bench) counted() map[string]*atomic.Int64 {
	n := map[string]*atomic.Int64{}
	for _, op := range []string{"append", "lease", "read", "settle", "release", "prune"} {
		n[op] = &atomic.Int64{}
	}
	b.store.Intercept = func(op string) error { n[op].Add(1); return nil }
	return n
}

func TestIdleRelayAsksRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		n := b.counted()
		stop := b.start(outbox.RelayConfig{})
		time.Sleep(10 * time.Minute)
		total := int64(0)
		for op, c := range n {
			t.Logf("%s: %d", op, c.Load())
			total += c.Load()
		}
		if n["read"].Load() < 590 {
			t.Errorf("%d reads in 10 minutes, want one per second", n["read"].Load())
		}
		if total > 2*600 {
			t.Errorf("%d statements in 10 minutes, want at most 2 per second", total)
		}
		stop()
	})
}

func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		stop := b.start(outbox.RelayConfig{Interval: time.Hour})
		synctest.Wait()
		start := time.Now()
		b.append("a") // Memory.Do wakes after its commit
		synctest.Wait()
		if got := b.order(); len(got) != 1 || time.Since(start) != 0 {
			t.Errorf("published %v after %v, want a1 at once", got, time.Since(start))
		}
		stop()
	})
}

func TestRelayWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		// A store that cannot signal: only Relay.Wake tells.
		r, err := outbox.NewRelay(struct{ outbox.Store }{b.store}, b.pub, outbox.RelayConfig{Interval: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		b.append("a")
		synctest.Wait()
		if len(b.order()) != 0 {
			t.Error("published without a wake-up before the interval")
		}
		r.Wake()
		synctest.Wait()
		if len(b.order()) != 1 {
			t.Error("Wake published nothing")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestIntervalIsTheFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		r, err := outbox.NewRelay(struct{ outbox.Store }{b.store}, b.pub, outbox.RelayConfig{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		b.append("a")
		time.Sleep(time.Second)
		synctest.Wait()
		if len(b.order()) != 1 {
			t.Error("nothing was published after the interval")
		}
		cancel()
		<-done
	})
}

// keysOf is n distinct keys.
func keysOf(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("k%03d-", i))
	}
	return out
}

func TestStrictReadsNotPastAFailingBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append(keysOf(100)...)
		b.refuse(errRefused, is("k000-1"))
		attempts := 0
		stop := b.start(outbox.RelayConfig{MinBatch: 10, MaxBatch: 10, Chunk: 1, MaxAge: -1,
			Hooks: outbox.Hooks{Failed: func(int, string, int, error) { attempts++ }}})
		time.Sleep(time.Minute)
		synctest.Wait()
		// The rest of the batch, and with each further attempt one probe.
		if got, most := len(b.order()), 9+attempts-1; got < 9 || got > most {
			t.Errorf("published %d events behind a failing one after %d attempts, want 9 to %d", got, attempts, most)
		}
		stop()
	})
}

func TestOtherKeysOfTheBatchPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a", "b", "a", "c", "b")
		b.refuse(errRefused, is("a1"))
		stop := b.start(outbox.RelayConfig{Chunk: 1, Lanes: 2})
		synctest.Wait()
		got := b.order()
		slices.Sort(got)
		if strings.Join(got, " ") != "b1 b2 c1" {
			t.Errorf("published %v while a1 fails, want the other keys", got)
		}
		stop()
	})
}

func TestMaxAge(t *testing.T) {
	for _, o := range []outbox.Ordering{outbox.Strict, outbox.ByKey} {
		for _, c := range []struct {
			name   string
			others bool
			err    error
			parked bool
		}{
			{"others get through", true, errRefused, true},
			{"nothing else waits", false, errRefused, false},
			{"the broker answers", false, fault.MarkPermanent(errRefused), true},
			{"the broker is away", true, fault.MarkInfrastructure(errRefused), false},
		} {
			t.Run(fmt.Sprint(o, " ", c.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, 1)
					b.refuse(c.err, is("bad1"))
					parked := make(chan time.Time, 1)
					start := time.Now()
					stop := b.start(outbox.RelayConfig{Ordering: o, Hooks: outbox.Hooks{
						Parked: func(int, string, string, error) { parked <- time.Now() }}})
					b.append("bad", "bad")
					for time.Since(start) < 20*time.Minute {
						if c.others {
							b.append("good")
						}
						time.Sleep(time.Second)
					}
					synctest.Wait()
					select {
					case at := <-parked:
						if age := at.Sub(start); !c.parked || age < 5*time.Minute || age > 6*time.Minute {
							t.Errorf("parked after %v; want %v, after 5 to 6 minutes", age, c.parked)
						}
						if !slices.Contains(b.order(), "bad2") {
							t.Error("the event behind the parked one was not published")
						}
					default:
						if c.parked {
							t.Error("not parked in 20 minutes")
						}
					}
					stop()
				})
			})
		}
	}
}

// TestProbesFindThePoison has no event after the failing one but those that
// were committed before it failed: what is read on must give the evidence.
func TestProbesFindThePoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.refuse(errRefused, is("k000-1"))
		b.append(keysOf(200)...)
		stop := b.start(outbox.RelayConfig{MinBatch: 10, MaxBatch: 100})
		time.Sleep(8 * time.Minute)
		synctest.Wait()
		if n := len(b.order()); n != 199 {
			t.Errorf("%d events were published after the poison was to be parked, want 199", n)
		}
		if p, _ := b.store.Parked(t.Context(), 0, 10); len(p) != 1 || p[0].Key != "k000-" {
			t.Errorf("parked %+v, want the poison", p)
		}
		stop()
	})
}

// TestOutageCatchesUp checks that an outage which nobody classified ends soon
// after the broker is back, with nothing parked, in order.
func TestOutageCatchesUp(t *testing.T) {
	for _, o := range []outbox.Ordering{outbox.Strict, outbox.ByKey} {
		t.Run(fmt.Sprint(o), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 1)
				var away atomic.Bool
				var tries atomic.Int64
				away.Store(true)
				b.pub.Fail = func(string, event.Event) error {
					if away.Load() {
						tries.Add(1)
						return errRefused
					}
					return nil
				}
				stop := b.start(outbox.RelayConfig{Ordering: o})
				for i := range 100 {
					b.append(keysOf(20)[i%20])
					time.Sleep(time.Second)
				}
				time.Sleep(time.Hour)
				if n := tries.Load(); n > 20_000 {
					t.Errorf("%d attempts in an outage of an hour", n)
				}
				away.Store(false)
				time.Sleep(31 * time.Second) // the cap of the backoff
				synctest.Wait()
				if n := len(b.order()); n != 100 {
					t.Errorf("%d events were published after the outage, want 100", n)
				}
				if n := outboxtest.Inversions(b.pub.Published()); n != 0 {
					t.Errorf("%d inversions", n)
				}
				stop()
			})
		})
	}
}

func TestByKeyBoundsWhatStandsAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		var cured atomic.Bool
		b.refuse(errRefused, func(n string) bool { return strings.HasPrefix(n, "bad") && !cured.Load() })
		stop := b.start(outbox.RelayConfig{Ordering: outbox.ByKey, MaxAside: 5, MaxAge: -1})
		for range 20 {
			b.append("bad", "good")
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Hour)
		st, err := b.store.Stats(t.Context())
		if err != nil || st[0].Aside != 5 || st[0].Backlog <= 5 {
			t.Errorf("%d events stand aside of %d, %v; want 5, and others that wait for room", st[0].Aside, st[0].Backlog, err)
		}
		cured.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(b.order()); n != 40 {
			t.Errorf("%d events were published at last, want 40", n)
		}
		if n := outboxtest.Inversions(b.pub.Published()); n != 0 {
			t.Errorf("%d inversions", n)
		}
		stop()
	})
}

func TestStalledHolderStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append(keysOf(10)...)
		// The holder's database connection fails for longer than its lease while
		// a Publish call hangs. The heir publishes everything.
		entered, release := make(chan *message.Message, 1), make(chan struct{})
		hung := publisherFunc(func(_ string, msgs ...*message.Message) error {
			select {
			case entered <- msgs[0]:
				<-release
			default:
				t.Error("a stalled holder began another Publish call")
			}
			return msgs[0].Context().Err()
		})
		var cut atomic.Bool
		b.store.Intercept = func(op string) error {
			if cut.Load() && op == "settle" {
				return errors.New("no connection")
			}
			return nil
		}
		r, err := outbox.NewRelay(b.store, hung, outbox.RelayConfig{Chunk: 1, Lanes: 1})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		msg := <-entered
		cut.Store(true)
		time.Sleep(11 * time.Second)
		cut.Store(false)

		heir := b.start(outbox.RelayConfig{})
		synctest.Wait()
		if n := len(b.order()); n != 10 {
			t.Errorf("the heir published %d events, want 10", n)
		}
		time.Sleep(4 * time.Second) // the stalled holder asks again
		if msg.Context().Err() == nil {
			t.Error("the message of a lost lease is not cancelled")
		}
		close(release)
		synctest.Wait()
		if n := outboxtest.Duplicates(b.pub.Published()); n != 0 {
			t.Errorf("%d duplicates", n)
		}
		heir()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

type publisherFunc func(topic string, msgs ...*message.Message) error

func (f publisherFunc) Publish(topic string, msgs ...*message.Message) error {
	return f(topic, msgs...)
}
func (publisherFunc) Close() error { return nil }

func TestLeaseIsKeptWhilePublishing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a")
		slow := publisherFunc(func(topic string, msgs ...*message.Message) error {
			time.Sleep(5 * time.Minute)
			return b.pub.Publish(topic, msgs...)
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		for range 2 { // one of them stands by
			r, err := outbox.NewRelay(b.store, slow, outbox.RelayConfig{})
			if err != nil {
				t.Fatal(err)
			}
			go func() { done <- r.Run(ctx) }()
		}
		time.Sleep(time.Hour)
		if got := b.order(); len(got) != 1 {
			t.Errorf("published %v, want a1 once", got)
		}
		cancel()
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
	})
}

func TestShutdownFinishesTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append(keysOf(20)...)
		b.pub.Fail = func(string, event.Event) error { time.Sleep(time.Second); return nil }
		stop := b.start(outbox.RelayConfig{Lanes: 4})
		time.Sleep(1500 * time.Millisecond)
		stop()
		b.pub.Fail = nil
		if n := len(b.order()); n != 20 {
			t.Errorf("%d events of the batch in flight were published, want 20", n)
		}
		if err := b.relay(outbox.RelayConfig{}).Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if n := outboxtest.Duplicates(b.pub.Published()); n != 0 {
			t.Errorf("%d events were published again after a clean stop", n)
		}
	})
}

func TestShutdownTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a", "b")
		hang := publisherFunc(func(_ string, msgs ...*message.Message) error {
			<-msgs[0].Context().Done() // a client that heeds the message's context
			return msgs[0].Context().Err()
		})
		r, err := outbox.NewRelay(b.store, hang, outbox.RelayConfig{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		cancel()
		start := time.Now()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("a hanging publisher held the shutdown up for %v, want 30s", took)
		}
		if st, _ := b.store.Stats(t.Context()); st[0].Failing != 0 || st[0].Backlog != 2 {
			t.Errorf("a cancelled attempt was counted: %+v", st[0])
		}
	})
}

func TestPublisherPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a")
		n := 0
		b.pub.Fail = func(string, event.Event) error {
			if n++; n == 1 {
				panic("out of cheese")
			}
			return nil
		}
		var failed []error
		if err := b.relay(outbox.RelayConfig{Hooks: outbox.Hooks{
			Failed: func(_ int, _ string, _ int, err error) { failed = append(failed, err) },
		}}).Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(failed) != 1 || !strings.Contains(failed[0].Error(), "out of cheese") || len(b.order()) != 1 {
			t.Errorf("failures %v, published %v; want the panic and then a1", failed, b.order())
		}
	})
}

func TestMaxShardsSpreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 4)
		var held [2]atomic.Int64
		var stops []func()
		for i := range 2 {
			stops = append(stops, b.start(outbox.RelayConfig{MaxShards: 2, Hooks: outbox.Hooks{Lease: func(_ int, h bool) {
				if h {
					held[i].Add(1)
				} else {
					held[i].Add(-1)
				}
			}}}))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if held[0].Load() != 2 || held[1].Load() != 2 {
			t.Errorf("the relays hold %d and %d shards, want 2 each", held[0].Load(), held[1].Load())
		}
		b.append(keysOf(50)...)
		synctest.Wait()
		if n := len(b.order()); n != 50 {
			t.Errorf("%d events were published, want 50", n)
		}
		for _, stop := range stops {
			stop()
		}
	})
}

func TestHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		first := b.start(outbox.RelayConfig{})
		synctest.Wait()
		second := b.start(outbox.RelayConfig{})
		time.Sleep(10 * time.Second)
		first()
		b.append("a")
		time.Sleep(time.Second) // the standby's interval, not the lease's TTL
		synctest.Wait()
		if len(b.order()) != 1 {
			t.Error("the standby did not take over within its interval")
		}
		second()
	})
}

func TestBatchesFollowTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		for range 20 {
			b.append(keysOf(1000)...)
		}
		var rounds []int
		r := b.relay(outbox.RelayConfig{Hooks: outbox.Hooks{Round: func(_ int, _ time.Duration, n int) { rounds = append(rounds, n) }}})
		if err := r.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rounds[0] != 100 || slices.Max(rounds) != 5000 {
			t.Errorf("batches of %v, want 100 growing to 5000", rounds)
		}
		rounds = nil
		b.append(keysOf(1000)...)
		b.pub.Fail = func(string, event.Event) error { time.Sleep(time.Second); return nil }
		if err := r.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if slices.Max(rounds) > 200 {
			t.Errorf("batches of %v for a slow publisher, want them small", rounds)
		}
	})
}

func TestBatchBytesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		for range 10 {
			b.append(keysOf(100)...)
		}
		size := 0
		for _, it := range []string{"k000-"} {
			e, err := outboxtest.NewEvent(it, 1)
			if err != nil {
				t.Fatal(err)
			}
			msg, err := (event.Structured{}).Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			size = len(msg.Payload)
		}
		var rounds []int
		cfg := outbox.RelayConfig{MaxBatchBytes: 20 * size,
			Hooks: outbox.Hooks{Round: func(_ int, _ time.Duration, n int) { rounds = append(rounds, n) }}}
		if err := b.relay(cfg).Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The first two were asked for before anything was known of the sizes.
		if n := slices.Max(rounds[2:]); n > 21 {
			t.Errorf("batches of %v, want about 20 events", rounds)
		}
	})
}

func TestRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		r := b.relay(outbox.RelayConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		if err := r.Drain(t.Context()); !errors.Is(err, outbox.ErrRunning) {
			t.Errorf("Drain beside Run returned %v, want ErrRunning", err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := r.Drain(t.Context()); err != nil {
			t.Errorf("Drain after Run returned %v", err)
		}
	})
}

func TestDrainEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a")
		b.refuse(errRefused, is("a1"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := b.relay(outbox.RelayConfig{}).Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain of a failing event returned %v, want its deadline", err)
		}
	})
}

func TestForeignDatabaseEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2)
		b.store.Intercept = func(op string) error {
			if op == "lease" {
				return fmt.Errorf("lease: %w", outbox.ErrForeignDatabase)
			}
			return nil
		}
		if err := b.relay(outbox.RelayConfig{}).Run(t.Context()); !errors.Is(err, outbox.ErrForeignDatabase) {
			t.Errorf("Run returned %v, want ErrForeignDatabase", err)
		}
	})
}

// TestGroups checks that messages travel many per call, and one by one after a
// call for many has failed.
func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a", "b", "a", "c", "b", "a")
		var calls []string
		failed := false
		pub := publisherFunc(func(_ string, msgs ...*message.Message) error {
			var call []string
			for _, m := range msgs {
				e, err := event.Decode(m)
				if err != nil {
					return err
				}
				call = append(call, name(e))
				if name(e) == "b1" && !failed {
					failed = len(msgs) == 1 // the second time
					calls = append(calls, strings.Join(call, "+")+"!")
					return errRefused
				}
			}
			calls = append(calls, strings.Join(call, "+"))
			return nil
		})
		r, err := outbox.NewRelay(b.store, pub, outbox.RelayConfig{Lanes: 1, Chunk: 4})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := "a1+b1! a1 b1! a2 c1 a3 b1 b2"
		if got := strings.Join(calls, " "); got != want {
			t.Errorf("calls were %s, want %s", got, want)
		}
	})
}
