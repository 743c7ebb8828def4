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

// The same in batches: what is handed over of a key goes on where it stopped, in
// order, whatever part of a batch failed.
func TestRandomHistoriesOfBatchesKeepOrderAndLoseNothing(t *testing.T) {
	const keys, each = 7, 60
	for seed := range uint64(25) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 2))
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
				handle := func(ctx context.Context, messages []*message.Message) (err error) {
					l.beginBatch(messages, number)
					var failed bus.BatchError
					all := false
					defer func() {
						l.endBatch(messages, number, func(i int) bool { return all && failed.Of(i) == nil })
					}()
					select {
					case <-time.After(time.Duration(roll(300)) * time.Millisecond):
					case <-ctx.Done():
						return ctx.Err()
					}
					switch roll(12) {
					case 0:
						return errors.New("timeout")
					case 1:
						return errDown
					case 2:
						return fault.MarkPermanent(errors.New("invalid"))
					case 3:
						panic("boom")
					case 4, 5, 6:
						stopped := map[string]bool{}
						for i, m := range messages {
							switch key := event.Key(m); {
							case stopped[key]:
								failed.Add(i, bus.ErrHeldBack)
							case roll(4) == 0:
								stopped[key] = true
								failed.Add(i, []error{errors.New("timeout"), errDown, fault.MarkPermanent(errors.New("invalid"))}[roll(3)])
							}
						}
					}
					all = true
					return failed.OrNil()
				}
				consumer := bus.BatchConsumer{
					Topic: "t", Group: "g", Handler: handle, Size: 1 + roll(20), Concurrency: 1 + roll(4),
					Wait: time.Duration(roll(100)) * time.Millisecond, Window: 20 + roll(100),
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
						time.Sleep(time.Duration(roll(100)) * time.Millisecond)
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
