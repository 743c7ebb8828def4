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

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// ledger checks what handlers do against what is promised: one message per key
// at a time, and a key's messages settled in the order they were published.
// A message may come again after it was settled, since delivery is at least once.
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

// beginBatch and endBatch are begin and end of a batch: the messages of a key
// are in no other batch meanwhile, and lie in it without a gap.
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

// A random history: handlers that succeed, fail in every class, panic and take
// their time, and runners that are stopped and started in the middle of it.
func TestRandomHistoriesKeepOrderAndLoseNothing(t *testing.T) {
	const keys, each = 7, 40
	for seed := range uint64(25) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				var rmu sync.Mutex
				roll := func(n int) int {
					rmu.Lock()
					defer rmu.Unlock()
					return rnd.IntN(n)
				}
				b := memBus(t)
				l := &ledger{busy: map[string]int{}, settled: map[string]int{}}
				number := func(m *message.Message) (n int) {
					fmt.Sscanf(string(m.Payload), event.Key(m)+"#%d", &n) //nolint:errcheck // our own payload
					return n
				}
				handle := func(m *message.Message) (err error) {
					key, n := event.Key(m), number(m)
					l.begin(key, n)
					defer func() {
						l.end(key, n, err == nil)
					}()
					select {
					case <-time.After(time.Duration(roll(300)) * time.Millisecond):
					case <-m.Context().Done():
						return m.Context().Err()
					}
					switch roll(20) {
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
				consumer := bus.Consumer{
					Topic: "t", Group: "g", Handler: handle, Concurrency: 1 + roll(keys), Window: 10 + roll(100),
					Hooks: bus.Hooks{OnDeadLetter: func(d bus.DeadLetter) { l.bury(event.Key(d.Message), number(d.Message)) }},
				}
				cfg := bus.RunnerConfig{DrainTimeout: time.Duration(1+roll(400)) * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}

				published := make(chan struct{})
				go func() {
					defer close(published)
					for n := 1; n <= each; n++ {
						for k := range keys {
							if err := b.Publisher().Publish("t", keyed(fmt.Sprint("k", k), n)); err != nil {
								t.Error(err)
							}
						}
						time.Sleep(time.Duration(roll(200)) * time.Millisecond)
					}
				}()
				for life := 0; ; life++ {
					r, err := bus.NewRunner(b, cfg)
					if err != nil {
						t.Fatal(err)
					}
					if err := r.Add(consumer); err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+roll(20))*time.Second)
					if err := r.Run(ctx); err != nil {
						t.Fatal(err)
					}
					cancel()
					if life > 10_000 {
						t.Fatalf("%d messages are left after %d lives", lag(t, b, "t", "g"), life)
					}
					if isDone(published) && lag(t, b, "t", "g") == 0 {
						break
					}
				}
				for _, line := range l.broken {
					t.Error(line)
				}
				for k := range keys {
					if got := l.settled[fmt.Sprint("k", k)]; got != each {
						t.Errorf("k%d: %d of %d messages were settled", k, got, each)
					}
				}
			})
		})
	}
}
