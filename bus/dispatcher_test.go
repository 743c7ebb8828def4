package bus_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
)

// feed is a source that hands over what the test puts in, with no goroutine of
// its own, and remembers how each message was answered.
type feed struct {
	ch     chan *message.Message
	mu     sync.Mutex
	given  []*message.Message
	ctx    context.Context // of the latest Subscribe
	ended  bool
	closes int
}

func newFeed() *feed { return &feed{ch: make(chan *message.Message, 10_000)} }

func (f *feed) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ctx = ctx
	context.AfterFunc(ctx, f.end)
	return f.ch, nil
}

func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.ended = true
		close(f.ch)
	}
}

func (f *feed) Close() error {
	f.mu.Lock()
	f.closes++
	f.mu.Unlock()
	return nil
}

func (f *feed) put(messages ...*message.Message) {
	for _, m := range messages {
		f.given = append(f.given, m)
		f.ch <- m
	}
}

// answers returns "key#n:ack", ":nack" or ":open" for every message put in.
func (f *feed) answers() string {
	var all []string
	for _, m := range f.given {
		answer := "open"
		select {
		case <-m.Acked():
			answer = "ack"
		case <-m.Nacked():
			answer = "nack"
		default:
		}
		all = append(all, m.UUID+":"+answer)
	}
	return strings.Join(all, " ")
}

func dispatch(t *testing.T, source message.Subscriber, cfg bus.SubscriberConfig) (*bus.Dispatcher, <-chan *message.Message) {
	t.Helper()
	d, err := bus.NewDispatcher(source, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ch, err := d.Subscribe(context.Background(), "t")
	if err != nil {
		t.Fatal(err)
	}
	return d, ch
}

// drain takes what is handed out until nothing more comes.
func drain(ch <-chan *message.Message) (got []*message.Message) {
	for {
		synctest.Wait()
		select {
		case m, ok := <-ch:
			if !ok {
				return got
			}
			got = append(got, m)
		default:
			return got
		}
	}
}

func ids(messages []*message.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, m.UUID)
	}
	return strings.Join(all, " ")
}

func closeOK(t *testing.T, d *bus.Dispatcher) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestOnePerKeyAndAtMostConcurrencyAreOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		f.put(keyed("a", 1), keyed("a", 2), keyed("b", 1), keyed("", 1), keyed("", 2), keyed("c", 1), keyed("d", 1))
		d, ch := dispatch(t, f, bus.SubscriberConfig{Concurrency: 4})
		out := drain(ch)
		if got := ids(out); got != "a#1 b#1 #1 c#1" {
			t.Errorf("out at once: %s", got)
		}
		out[0].Ack()
		if got := ids(drain(ch)); got != "d#1" {
			t.Errorf("after a#1: %s; a key that was served goes to the end of the line", got)
		}
		out[1].Ack()
		if got := ids(drain(ch)); got != "a#2" {
			t.Errorf("after b#1: %s", got)
		}
		out[2].Ack()
		if got := ids(drain(ch)); got != "#2" {
			t.Errorf("after #1: %s; messages without a key are one key", got)
		}
		if got := f.answers(); got != "a#1:ack a#2:open b#1:ack #1:ack #2:open c#1:open d#1:open" {
			t.Errorf("the source saw %s", got)
		}
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
		if left := len(f.ch); left != 90 {
			t.Errorf("%d of 100 messages are left in the source, want 90", left)
		}
		out[0].Ack()
		drain(ch)
		if left := len(f.ch); left != 89 {
			t.Errorf("%d are left after one was acknowledged, want 89", left)
		}
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
		if got := ids(drain(ch)); got != "other3#1" {
			t.Fatalf("got %s", got)
		}
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

type ctxKey struct{}

func TestTheContextEndsWithTheAnswerAndNotWithTheSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		d, err := bus.NewDispatcher(f, bus.SubscriberConfig{DrainTimeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), ctxKey{}, "value"))
		ch, err := d.Subscribe(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		put := func(m *message.Message) *message.Message {
			m.SetContext(f.ctx) // as subscribers do
			f.put(m)
			return <-ch
		}
		acked, nacked, stays, slow := put(keyed("a", 1)), put(keyed("b", 1)), put(keyed("c", 1)), put(keyed("d", 1))
		acked.Ack()
		nacked.Nack()
		synctest.Wait()
		if acked.Context().Err() == nil || nacked.Context().Err() == nil {
			t.Error("the context of an answered message lives on")
		}
		cancel()
		synctest.Wait()
		if _, ok := <-ch; ok {
			t.Fatal("the channel is open after the context ended")
		}
		if err := stays.Context().Err(); err != nil {
			t.Errorf("the end of the subscription cut a handler short: %v", err)
		}
		if v := stays.Context().Value(ctxKey{}); v != "value" {
			t.Errorf("the context's value is %v", v)
		}
		begin, closed := time.Now(), make(chan time.Duration)
		go func() {
			closeOK(t, d)
			closed <- time.Since(begin)
		}()
		time.Sleep(9 * time.Second)
		if err := stays.Context().Err(); err != nil {
			t.Errorf("Close cut a handler short: %v", err)
		}
		stays.Ack()
		if took := <-closed; took != 10*time.Second {
			t.Errorf("Close took %s, want the drain timeout", took)
		}
		if err := context.Cause(slow.Context()); !errors.Is(err, bus.ErrDrainTimeout) {
			t.Errorf("after the drain timeout: %v", err)
		}
		if got := f.answers(); got != "a#1:ack b#1:nack c#1:ack d#1:nack" {
			t.Errorf("the source saw %s", got)
		}
	})
}

func TestCloseHandsBackWhatIsUnfinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		d, ch := dispatch(t, f, bus.SubscriberConfig{Concurrency: 2, Redelivery: bus.Backoff{Initial: time.Hour, Max: time.Hour}})
		f.put(keyed("done", 1), keyed("parked", 1), keyed("parked", 2), keyed("out", 1), keyed("out", 2), keyed("queued", 1))
		for _, m := range drain(ch) {
			if m.UUID == "done#1" {
				m.Ack()
			} else {
				m.Nack()
			}
		}
		out := drain(ch)
		if got := ids(out); got != "out#1 queued#1" {
			t.Fatalf("out: %s", got)
		}
		// Acknowledged in the same moment as the close: it counts.
		out[1].Ack()
		closeOK(t, d)
		if got := f.answers(); got != "done#1:ack parked#1:nack parked#2:nack out#1:nack out#2:nack queued#1:ack" {
			t.Errorf("the source saw %s", got)
		}
		if out[0].Context().Err() == nil {
			t.Error("the context of a message that was handed back lives on")
		}
		if f.closes != 1 {
			t.Errorf("the source was closed %d times", f.closes)
		}
		out[0].Ack() // too late, and harmless
		closeOK(t, d)
		if _, err := d.Subscribe(context.Background(), "t"); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("Subscribe after Close: %v", err)
		}
	})
}

// A transport takes a message back by ending its context, when a lease or a
// partition went to another instance.
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
		if got := ids(out); got != "a#1 b#1" {
			t.Fatalf("out: %s", got)
		}
		out[1].Nack() // b waits for its redelivery
		synctest.Wait()
		revoke()
		synctest.Wait()
		if err := context.Cause(out[0].Context()); !errors.Is(err, bus.ErrRevoked) {
			t.Errorf("the handler of a revoked message sees %v", err)
		}
		f.put(keyed("a", 1), keyed("b", 1)) // the transport starts over
		if got := drain(ch); len(got) != 0 {
			t.Errorf("%s came while a#1 was still being handled", ids(got))
		}
		out[0].Nack()
		time.Sleep(time.Minute)
		if got := ids(drain(ch)); got != "a#1 b#1" && got != "b#1 a#1" {
			t.Errorf("after the revocation: %s, want each of the new ones once", got)
		}
		closeOK(t, d)
		if got := f.answers(); got != "a#1:nack a#2:nack b#1:nack a#1:nack b#1:nack" {
			t.Errorf("the source saw %s", got)
		}
	})
}

func TestASourceThatEndsClosesTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		f.put(keyed("a", 1))
		d, ch := dispatch(t, f, bus.SubscriberConfig{})
		m := <-ch
		f.end()
		if _, ok := <-ch; ok {
			t.Error("got a message from a source that ended")
		}
		m.Ack()
		closeOK(t, d)
		if got := f.answers(); got != "a#1:ack" {
			t.Errorf("the source saw %s", got)
		}
	})
}

func TestGoroutinesAreBoundedByConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		for n := range 5000 {
			f.put(keyed(fmt.Sprint(n), 1))
		}
		d, ch := dispatch(t, f, bus.SubscriberConfig{Concurrency: 4, Window: 4000})
		if n := len(drain(ch)); n != 4 {
			t.Fatalf("%d are out", n)
		}
		if n := ours(); n != 4+1 {
			t.Errorf("%d goroutines for 4 messages out and 4000 held, want a watcher each and the loop", n)
		}
		closeOK(t, d)
		synctest.Wait()
		if n := ours(); n != 0 {
			t.Errorf("%d goroutines are left after Close", n)
		}
	})
}

// ours counts the goroutines that run this module's or a dependency's code, the
// test's own excepted.
func ours() (n int) {
	buf := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "github.com/") && !strings.Contains(stack, "testing.") && !strings.Contains(stack, "TestMain") {
			n++
		}
	}
	return n
}

// partitioned is a foreign subscriber as Watermill's are: each partition waits
// for the answer to a message before it hands over the next, and delivers a
// nacked one again.
type partitioned struct {
	partitions [][]*message.Message
	wg         sync.WaitGroup
	mu         sync.Mutex
	acked      []string
	stop       chan struct{}
	once       sync.Once
}

func (p *partitioned) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	for _, part := range p.partitions {
		p.wg.Go(func() {
			for i := 0; i < len(part); {
				m := part[i].Copy()
				mctx, cancel := context.WithCancel(ctx)
				m.SetContext(mctx)
				select {
				case out <- m:
				case <-ctx.Done():
				case <-p.stop:
				}
				select {
				case <-m.Acked():
					p.mu.Lock()
					p.acked = append(p.acked, m.UUID)
					p.mu.Unlock()
					i++
				case <-m.Nacked():
				case <-ctx.Done():
				case <-p.stop:
				}
				cancel()
				if ctx.Err() != nil || isDone(p.stop) {
					return
				}
			}
			select {
			case <-ctx.Done():
			case <-p.stop:
			}
		})
	}
	go func() {
		p.wg.Wait()
		close(out)
	}()
	return out, nil
}

func (p *partitioned) Close() error {
	p.once.Do(func() { close(p.stop) })
	p.wg.Wait()
	return nil
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
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
		if _, err := bus.NewDispatcher(newFeed(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewDispatcher(%+v): %v, want %q", cfg, err, want)
		}
	}
	if _, err := b.Subscriber("", bus.SubscriberConfig{}); err == nil || !strings.Contains(err.Error(), "group is empty") {
		t.Errorf("no group: %v", err)
	}
	if _, err := bus.NewDispatcher(nil, bus.SubscriberConfig{}); err == nil {
		t.Error("no source: no error")
	}
}
