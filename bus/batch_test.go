package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/spantest"
)

// batched is a batch consumer whose calls and hooks are recorded.
func batched(j *journal, c bus.BatchConsumer) bus.BatchConsumer {
	h := c.Handler
	c.Topic, c.Group = "t", "g"
	c.Handler = func(ctx context.Context, messages []*message.Message) error {
		j.add("batch %s", short(messages))
		return h(ctx, messages)
	}
	c.Hooks = journaled(j, bus.Consumer{}).Hooks
	return c
}

// short writes a#1 a#2 a#3 b#1 as a#1-3 b#1.
func short(messages []*message.Message) string {
	var out []string
	for from, i := 0, 1; i <= len(messages); i++ {
		if i < len(messages) && event.Key(messages[i]) == event.Key(messages[from]) {
			continue
		}
		s := messages[from].UUID
		if last := messages[i-1].UUID; last != s {
			_, n, _ := strings.Cut(last, "#")
			s += "-" + n
		}
		out = append(out, s)
		from = i
	}
	return strings.Join(out, " ")
}

func nothing(context.Context, []*message.Message) error { return nil }

func fill(t *testing.T, b *bus.Bus, key string, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		publish(t, b, "t", keyed(key, n))
	}
}

// settle waits for d and for everything that is due by then.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestABatchGoesOutWhenItIsFullOrOldEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		r := start(t, b, bus.RunnerConfig{}, batched(j, bus.BatchConsumer{Handler: nothing, Size: 5, Wait: 100 * time.Millisecond}))
		fill(t, b, "a", 1, 7) // five of one key at once, two that wait
		settle(50 * time.Millisecond)
		fill(t, b, "b", 1, 1) // does not restart the wait
		settle(time.Second)
		fill(t, b, "a", 8, 8)
		settle(time.Second)
		s := r.Status()[0]
		if s.Handled != 9 || s.Batches != 3 || s.InFlight != 0 {
			t.Errorf("status %+v, want 9 handled in 3 batches", s)
		}
		r.stop(t)
		j.expect(t, "0s batch a#1-5", "100ms batch a#6-7 b#1", "1.15s batch a#8")
		assert.Equal(t, 0, lag(t, b, "t", "g"), "messages are unacknowledged")
	})
}

func TestBatchesOfOneKeyTakeTurnsAndConcurrencyBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		for n := 1; n <= 6; n++ {
			publish(t, b, "t", keyed("a", n), keyed("b", n), keyed("c", n))
		}
		r := start(t, b, bus.RunnerConfig{}, batched(j, bus.BatchConsumer{
			Size: 2, Wait: -1, Concurrency: 2, Window: 18,
			Handler: func(context.Context, []*message.Message) error { time.Sleep(time.Second); return nil },
		}))
		settle(time.Minute)
		r.stop(t)
		// The subscription fills one message at a time, so the first batches may be smaller. The
		// test checks which keys are out at the same time.
		busy := map[string]string{}
		for _, line := range j.lines {
			at, keys, _ := strings.Cut(line, " batch ")
			for _, part := range strings.Fields(keys) {
				key, _, _ := strings.Cut(part, "#")
				if busy[key+at] != "" {
					t.Errorf("two batches at %s have messages of %s: %v", at, key, j.lines)
				}
				busy[key+at] = keys
			}
		}
		assert.Equal(t, 0, lag(t, b, "t", "g"), "messages are unacknowledged")
	})
}

func TestABatchErrorFailsOnlyWhatItNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		fill(t, b, "a", 1, 3)
		fill(t, b, "b", 1, 2)
		calls := 0
		r := start(t, b, bus.RunnerConfig{}, batched(j, bus.BatchConsumer{
			Retry: bus.RetryPolicy{Backoff: exact}, Wait: 10 * time.Millisecond,
			Handler: func(_ context.Context, messages []*message.Message) error {
				calls++
				failed := bus.BatchError{}
				for i, m := range messages {
					switch {
					case m.UUID == "a#2" && calls == 1:
						failed[i] = errors.New("timeout")
					case m.UUID == "b#1":
						failed[i] = fault.MarkPermanent(errors.New("invalid"))
					case m.UUID == "a#3" && calls == 1:
						failed[i] = bus.ErrHeldBack
					}
				}
				return failed.OrNil()
			},
		}))
		settle(500 * time.Millisecond)
		fill(t, b, "a", 4, 4) // must not overtake a#2 and a#3
		settle(time.Minute)
		s := r.Status()[0]
		r.stop(t)
		j.expect(t,
			"10ms batch a#1-3 b#1-2",
			"10ms retry a#2 attempt 1 in 1s transient: timeout",
			"10ms dead b#1 to t.DLT after 1 permanent PERMANENT",
			"1.02s batch a#2-4",
			"1.02s recovered a#2 after 2")
		if s.Handled != 5 || s.DeadLettered != 1 || s.Retried != 1 {
			t.Errorf("status %+v", s)
		}
		if dead := browse(t, b, "t.DLT"); len(dead) != 1 || string(dead[0].Payload) != "b#1" {
			t.Errorf("dead letters: %v", dead)
		}
	})
}

// A permanent error that names no message is the fault of one unknown message: only that one may
// become a dead letter.
func TestAWholeBatchThatFailsIsTakenApart(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		dead string
	}{
		"permanent": {fault.MarkPermanent(errors.New("value out of range")), "after 1 permanent PERMANENT"},
		"transient": {errors.New("deadlock"), "after 2 transient RETRIES_EXHAUSTED"},
		"panic":     {nil, "after 2 transient PANIC"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, j := memBus(t), newJournal()
				fill(t, b, "a", 1, 3)
				fill(t, b, "b", 1, 2)
				r := start(t, b, bus.RunnerConfig{}, batched(j, bus.BatchConsumer{
					Retry: bus.FixedRetry(time.Second, 1), Wait: 10 * time.Millisecond,
					Handler: func(_ context.Context, messages []*message.Message) error {
						for _, m := range messages {
							if m.UUID == "a#2" {
								if c.err == nil {
									panic("boom")
								}
								return c.err
							}
						}
						return nil
					},
				}))
				settle(time.Minute)
				r.stop(t)
				var batches, dead []string
				for _, line := range j.lines {
					_, what, _ := strings.Cut(line, " ")
					if strings.HasPrefix(what, "batch ") {
						batches = append(batches, strings.TrimPrefix(what, "batch "))
					} else if strings.HasPrefix(what, "dead ") {
						dead = append(dead, what)
					}
				}
				assert.Equal(t, "dead a#2 to t.DLT "+c.dead, strings.Join(dead, ", "), "dead letters")
				assert.Equal(t, "a#1-3 b#1-2, a#1, b#1, a#2, b#2, a#3", strings.Join(batches, ", "), "batches")
				assert.Equal(t, 0, lag(t, b, "t", "g"), "messages are unacknowledged")
			})
		})
	}
}

func TestShutdownLetsABatchFinishAndCommits(t *testing.T) {
	for _, c := range []struct{ works, drain, left int }{{5, 10, 0}, {20, 10, 3}} {
		synctest.Test(t, func(t *testing.T) {
			b := memBus(t)
			fill(t, b, "a", 1, 3)
			var cause error
			r := start(t, b, bus.RunnerConfig{DrainTimeout: time.Duration(c.drain) * time.Second}, bus.BatchConsumer{
				Topic: "t", Group: "g", Size: 3,
				Handler: func(ctx context.Context, messages []*message.Message) error {
					select {
					case <-time.After(time.Duration(c.works) * time.Second):
					case <-ctx.Done():
						cause = context.Cause(ctx)
						<-messages[2].Context().Done()
					}
					return ctx.Err()
				},
			})
			settle(time.Second)
			r.stop(t)
			assert.Equal(t, c.left, lag(t, b, "t", "g"), "messages are unacknowledged")
			assert.Equalf(t, errors.Is(cause, bus.ErrDrainTimeout), c.left > 0, "the cause is %v", cause)
			if dead := browse(t, b, "t.DLT"); len(dead) != 0 {
				t.Errorf("dead letters: %s", ids(dead))
			}
		})
	}
}

func TestRevokedMessagesOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		b := bus.New("feed", feedDriver{memBus(t).Driver(), f})
		lease, revoke := context.WithCancel(context.Background())
		leased, waiting := keyed("a", 1), keyed("a", 2)
		leased.SetContext(lease)
		waiting.SetContext(lease)
		seen := map[string]string{}
		calls := 0
		r := start(t, b, bus.RunnerConfig{}, bus.BatchConsumer{
			Topic: "t", Group: "g", Size: 2, Wait: 10 * time.Millisecond,
			Handler: func(ctx context.Context, messages []*message.Message) error {
				if calls++; calls > 1 {
					seen["later"] += ids(messages)
					return nil
				}
				f.put(waiting)
				synctest.Wait()
				revoke()
				synctest.Wait()
				for _, m := range messages {
					seen[m.UUID] = fmt.Sprint(context.Cause(m.Context()))
				}
				seen["batch"] = fmt.Sprint(ctx.Err())
				return errors.New("half done")
			},
		})
		f.put(leased, keyed("b", 1))
		settle(time.Minute)
		if seen["a#1"] != driver.ErrRevoked.Error() || seen["b#1"] != "<nil>" || seen["batch"] != "<nil>" || seen["later"] != "b#1" {
			t.Errorf("saw %v", seen)
		}
		r.stop(t)
		assert.Equal(t, "a#1:nack b#1:ack a#2:nack", f.answers(), "answers")
	})
}

// revoking takes the messages back when the span of their batch begins.
type revoking struct {
	*spantest.Recorder
	revoke func()
}

func (r revoking) Tracer(name string, o ...trace.TracerOption) trace.Tracer {
	return revokingTracer{r.Recorder.Tracer(name, o...), r.revoke}
}

type revokingTracer struct {
	trace.Tracer
	revoke func()
}

func (r revokingTracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	r.revoke()
	return r.Tracer.Start(ctx, name, o...)
}

// Without a data race: nothing synchronizes a revocation with the handler.
func TestABatchIsRevokedWhileItsSpanBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		lease, revoke := context.WithCancel(context.Background())
		leased := keyed("a", 1)
		leased.SetContext(lease)
		var cause error
		r := start(t, bus.New("feed", feedDriver{memBus(t).Driver(), f}), bus.RunnerConfig{TracerProvider: revoking{new(spantest.Recorder), revoke}},
			bus.BatchConsumer{
				Topic: "t", Group: "g", Size: 1,
				Handler: func(ctx context.Context, _ []*message.Message) error {
					<-ctx.Done()
					cause = context.Cause(ctx)
					return cause
				},
			})
		f.put(leased)
		settle(time.Second)
		r.stop(t)
		if !errors.Is(cause, driver.ErrRevoked) || f.answers() != "a#1:nack" {
			t.Errorf("the batch ended with %v: %s", cause, f.answers())
		}
	})
}

// If the transport takes a message back before its batch is handed out, the messages of its key
// behind it are handled, in order.
func TestMessagesBehindARevokedOneAreHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		b := bus.New("feed", feedDriver{memBus(t).Driver(), f})
		lease, revoke := context.WithCancel(context.Background())
		leased := keyed("a", 1)
		leased.SetContext(lease)
		seen := ""
		r := start(t, b, bus.RunnerConfig{}, bus.BatchConsumer{
			Topic: "t", Group: "g", Size: 3, Wait: 10 * time.Millisecond,
			Handler: func(_ context.Context, messages []*message.Message) error {
				seen += short(messages) + ";"
				return nil
			},
		})
		f.put(leased, keyed("a", 2))
		synctest.Wait()
		revoke()
		settle(time.Second)
		f.put(keyed("a", 3))
		settle(time.Second)
		r.stop(t)
		assert.Equal(t, "a#1:nack a#2:ack a#3:ack", f.answers(), "answers")
		assert.Equal(t, "a#2;a#3;", seen, "batches")
	})
}

// Over a subscriber that hands over one unacknowledged message per partition, a batch is one
// message per partition; over one with a window it is full.
func TestHowFarABatchFills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &partitioned{stop: make(chan struct{})}
		for k := range 3 {
			var part []*message.Message
			for n := 1; n <= 4; n++ {
				part = append(part, keyed(fmt.Sprint("p", k), n))
			}
			p.partitions = append(p.partitions, part)
		}
		b := bus.New("partitioned", feedDriver{memBus(t).Driver(), p})
		r := start(t, b, bus.RunnerConfig{}, bus.BatchConsumer{Topic: "t", Group: "g", Handler: nothing, Wait: 10 * time.Millisecond})
		settle(time.Minute)
		if s := r.Status()[0]; s.Handled != 12 || s.Batches != 4 {
			t.Errorf("%d messages in %d batches, want 12 in 4 of one per partition", s.Handled, s.Batches)
		}
		r.stop(t)
	})
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		fill(t, b, "one key", 1, 1000)
		r := start(t, b, bus.RunnerConfig{}, bus.BatchConsumer{Topic: "t", Group: "g", Handler: nothing})
		settle(time.Minute)
		if s := r.Status()[0]; s.Handled != 1000 || s.Batches != 10 {
			t.Errorf("%d messages in %d batches, want 1000 in 10", s.Handled, s.Batches)
		}
		r.stop(t)
	})
}

func TestBatchErrorOutOfRangeFailsTheWholeBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, calls := memBus(t), 0
		fill(t, b, "a", 1, 2)
		r := start(t, b, bus.RunnerConfig{}, bus.BatchConsumer{
			Topic: "t", Group: "g", Size: 2, Retry: bus.FixedRetry(time.Second, 1),
			Handler: func(context.Context, []*message.Message) error {
				if calls++; calls == 1 {
					failed := bus.BatchError{}
					failed[2] = errors.New("whose?")
					return failed.OrNil()
				}
				return nil
			},
		})
		settle(time.Minute)
		if s := r.Status()[0]; s.Handled != 2 || calls != 3 || !strings.Contains(s.LastError, "no such message") {
			t.Errorf("%d calls, status %+v; want one batch and then each alone", calls, s)
		}
		r.stop(t)
	})
}

// An error beside a BatchError applies to the whole batch, such as that of a commit: nothing is
// acknowledged. So does a BatchError that names a message which the batch does not have.
func TestAnErrorBesideABatchErrorFailsAll(t *testing.T) {
	named := bus.BatchError{0: errors.New("invalid")}
	for name, err := range map[string]error{
		"joined":       errors.Join(named, errors.New("commit: connection reset")),
		"wrapped":      fmt.Errorf("%w; %w", named, errors.New("commit: connection reset")),
		"out of range": bus.BatchError{0: errors.New("invalid"), 2: errors.New("no such message")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memBus(t)
				publish(t, b, "t", keyed("a", 1), keyed("b", 1))
				tries := map[string]int{}
				first := true
				r := start(t, b, bus.RunnerConfig{}, bus.BatchConsumer{Topic: "t", Group: "g", Handler: func(_ context.Context, messages []*message.Message) error {
					for _, m := range messages {
						tries[m.UUID]++
					}
					if first {
						first = false
						return err
					}
					return nil
				}})
				settle(time.Minute)
				r.stop(t)
				if tries["a#1"] != 2 || tries["b#1"] != 2 {
					t.Errorf("handed over %v times, want each twice", tries)
				}
			})
		})
	}
}

// A BatchError that names no message fails none, also a nil one that was never made.
func TestABatchErrorWithoutMessagesFailsNone(t *testing.T) {
	var none bus.BatchError
	for name, err := range map[string]error{"nil": none, "empty": bus.BatchError{}, "wrapped": fmt.Errorf("views: %w", none)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memBus(t)
				publish(t, b, "t", keyed("a", 1), keyed("b", 1))
				r := start(t, b, bus.RunnerConfig{}, bus.BatchConsumer{Topic: "t", Group: "g", Handler: func(context.Context, []*message.Message) error { return err }})
				settle(time.Minute)
				r.stop(t)
				if s := r.Status()[0]; s.Handled != 2 || s.Retried != 0 || s.DeadLettered != 0 {
					t.Errorf("%+v, want both handled", s)
				}
			})
		})
	}
}
