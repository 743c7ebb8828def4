package bus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// ledger checks handlers against the guarantees: one message per key at a time, and a key's
// messages settled in the order they were published. A message may be redelivered after it was
// settled, since delivery is at least once.
type ledger struct {
	mu      sync.Mutex
	busy    map[string]int // handlers at work, by key
	settled map[string]int // the last message settled, by key
	broken  []string
}

func (l *ledger) begin(key string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[key]++; l.busy[key] > 1 {
		l.broken = append(l.broken, fmt.Sprintf("two messages of %s are out", key))
	}
	if n > l.settled[key]+1 {
		l.broken = append(l.broken, fmt.Sprintf("%s#%d came while #%d was not settled", key, n, l.settled[key]+1))
	}
}

func (l *ledger) end(key string, n int, settled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy[key]--
	if settled {
		l.settled[key] = max(l.settled[key], n)
	}
}

// beginBatch and endBatch are begin and end for a batch: the messages of a key are in no other
// batch at that time, and are consecutive in this one.
func (l *ledger) beginBatch(messages []*message.Message, number func(*message.Message) int) {
	last := map[string]int{}
	for _, m := range messages {
		key, n := event.Key(m), number(m)
		if last[key] == 0 {
			l.begin(key, n)
		} else if n != last[key]+1 {
			l.mu.Lock()
			l.broken = append(l.broken, fmt.Sprintf("a batch has %s#%d behind #%d", key, n, last[key]))
			l.mu.Unlock()
		}
		last[key] = n
	}
}

func (l *ledger) endBatch(messages []*message.Message, number func(*message.Message) int, done func(int) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, m := range messages {
		key := event.Key(m)
		l.busy[key] = 0
		if done(i) {
			l.settled[key] = max(l.settled[key], number(m))
		}
	}
}

func (l *ledger) bury(key string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled[key] = max(l.settled[key], n)
}

// history is a random run: messages of some keys are published, and a consumer is stopped and
// started in between. The seed determines all random choices.
type history struct {
	ledger
	each  int // messages of a key
	pause int // between two of them, at most, in milliseconds
	dice  sync.Mutex
	rnd   *rand.Rand
}

const historyKeys = 7

func (h *history) roll(n int) int {
	h.dice.Lock()
	defer h.dice.Unlock()
	return h.rnd.IntN(n)
}

// millis is a random time, in milliseconds below n.
func (h *history) millis(n int) time.Duration { return time.Duration(h.roll(n)) * time.Millisecond }

// number returns the number of m within its key.
func (h *history) number(m *message.Message) (n int) {
	fmt.Sscanf(string(m.Payload), event.Key(m)+"#%d", &n) //nolint:errcheck // our own payload
	return n
}

// hooks reports dead letters to the ledger.
func (h *history) hooks() bus.Hooks {
	return bus.Hooks{OnDeadLetter: func(d bus.Report) { h.bury(event.Key(d.Message), h.number(d.Message)) }}
}

// work waits a random time, unless the context ends before.
func (h *history) work(ctx context.Context) error {
	select {
	case <-time.After(h.millis(300)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// histories runs one history for each of 25 seeds, with a consumer from the caller.
func histories(t *testing.T, stream uint64, each, pause int, consumer func(h *history) bus.AnyConsumer) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &history{
					ledger: ledger{busy: map[string]int{}, settled: map[string]int{}},
					each:   each, pause: pause, rnd: rand.New(rand.NewPCG(seed, stream)),
				}
				h.run(t, memBus(t), consumer(h))
			})
		})
	}
}

func (h *history) run(t *testing.T, b *bus.Bus, consumer bus.AnyConsumer) {
	cfg := bus.RunnerConfig{DrainTimeout: time.Millisecond + h.millis(400), Logger: slog.New(slog.DiscardHandler)}
	published := make(chan struct{})
	go func() {
		defer close(published)
		for n := 1; n <= h.each; n++ {
			for k := range historyKeys {
				assert.NoError(t, b.Publisher().Publish("t", keyed(fmt.Sprint("k", k), n)))
			}
			time.Sleep(h.millis(h.pause))
		}
	}()
	for life := 0; ; life++ {
		r, err := bus.NewRunner(b, cfg)
		require.NoError(t, err)
		require.NoError(t, r.Add(consumer))
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+h.roll(20))*time.Second)
		require.NoError(t, r.Run(ctx))
		cancel()
		if s := r.Status()[0]; s.InFlight != 0 {
			t.Fatalf("after the end: %+v", s)
		}
		if life > 10_000 {
			t.Fatalf("%d messages are left after %d lives", lag(t, b, "t", "g"), life)
		}
		if isDone(published) && lag(t, b, "t", "g") == 0 {
			break
		}
	}
	for _, line := range h.broken {
		t.Error(line)
	}
	for k := range historyKeys {
		if got := h.settled[fmt.Sprint("k", k)]; got != h.each {
			t.Errorf("k%d: %d of %d messages were settled", k, got, h.each)
		}
	}
}

// Handlers that succeed, fail in every class, panic and take a random time.
func TestRandomHistoriesKeepOrderAndLoseNothing(t *testing.T) {
	histories(t, 1, 40, 200, func(h *history) bus.AnyConsumer {
		handle := func(m *message.Message) (err error) {
			key, n := event.Key(m), h.number(m)
			h.begin(key, n)
			defer func() {
				h.end(key, n, err == nil)
			}()
			if err := h.work(m.Context()); err != nil {
				return err
			}
			switch h.roll(20) {
			case 0, 1, 2:
				return errors.New("timeout")
			case 3:
				return errDown
			case 4:
				return fault.MarkPermanent(errors.New("invalid"))
			case 5:
				err = errors.New("panicked")
				panic("boom")
			}
			return nil
		}
		return bus.Consumer{
			Topic: "t", Group: "g", Handler: handle, Concurrency: 1 + h.roll(historyKeys), Window: 10 + h.roll(100), Hooks: h.hooks(),
		}
	})
}
