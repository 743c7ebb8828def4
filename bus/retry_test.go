package bus_test

import (
	"errors"
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
	"github.com/millrace-go/millrace/fault"
)

// journaled wraps a consumer so that its attempts and hooks go into j.
func journaled(j *journal, c bus.Consumer) bus.Consumer {
	h := c.Handler
	c.Handler = func(m *message.Message) error {
		j.add("try %s", m.Payload)
		return h(m)
	}
	c.Hooks = bus.Hooks{
		OnRetry: func(r bus.Report) {
			j.add("retry %s attempt %d in %s %s: %v", r.Message.Payload, r.Attempts, r.Delay, r.Class, r.Err)
		},
		OnRecovered: func(r bus.Report) { j.add("recovered %s after %d", r.Message.Payload, r.Attempts) },
		OnDeadLetter: func(d bus.Report) {
			j.add("dead %s to %s after %d %s %s", d.Message.Payload, d.DeadLetterTopic, d.Attempts, d.Class, d.Reason)
		},
		OnPause:  func(p bus.Report) { j.add("pause, probe in %s: %v", p.Delay, p.Err) },
		OnResume: func(r bus.Report) { j.add("resume after %s", r.Took) },
	}
	return c
}

func TestTransientRetriesOneTwoFourSecondsThenDeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		r := start(t, b, bus.RunnerConfig{}, journaled(j, bus.Consumer{
			Topic: "orders", Group: "g", Retry: bus.RetryPolicy{Backoff: exact},
			Handler: func(m *message.Message) error {
				if string(m.Payload) == "k#1" {
					return errors.New("timeout")
				}
				return nil
			},
		}))
		publish(t, b, "orders", keyed("k", 1), keyed("k", 2))
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(t)
		j.expect(t,
			"0s try k#1", "0s retry k#1 attempt 1 in 1s transient: timeout",
			"1s try k#1", "1s retry k#1 attempt 2 in 2s transient: timeout",
			"3s try k#1", "3s retry k#1 attempt 3 in 4s transient: timeout",
			"7s try k#1", "7s dead k#1 to orders.DLT after 4 transient RETRIES_EXHAUSTED",
			"7s try k#2",
		)
		assert.Equal(t, 0, lag(t, b, "orders", "g"), "messages are unacknowledged")
		dead := browse(t, b, "orders.DLT")
		if len(dead) != 1 || dead[0].UUID != "k#1" {
			t.Fatalf("dead letters: %v", dead)
		}
		first, _ := time.Parse(time.RFC3339, dead[0].Metadata[driver.DLQFirstFailure])
		last, _ := time.Parse(time.RFC3339, dead[0].Metadata[driver.DLQLastFailure])
		assert.Equalf(t, 7*time.Second, last.Sub(first), "failures from %s to %s, want 7s apart", first, last)
	})
}

// A killed process holds the keys of its messages until their deadline, and a live one until its
// work is done. Neither costs a retry.
func TestABusyMessageWaits(t *testing.T) {
	busy := []string{
		"0s try k#1", "0s retry k#1 attempt 0 in 1s busy: taken",
		"1s try k#1", "1s retry k#1 attempt 0 in 2s busy: taken",
		"3s try k#1", "3s retry k#1 attempt 0 in 4s busy: taken",
		"7s try k#1", "7s retry k#1 attempt 0 in 8s busy: taken",
	}
	for name, c := range map[string]struct {
		known bool
		then  []string
	}{
		"known": {true, []string{
			"15s try k#1", "15s retry k#1 attempt 0 in 5s busy: taken",
			"20s try k#1", "20s retry k#1 attempt 1 in 1s transient: timeout",
			"21s try k#1", "21s recovered k#1 after 7", "21s try k#2",
		}},
		"unknown": {false, []string{
			"15s try k#1", "15s retry k#1 attempt 0 in 16s busy: taken",
			"31s try k#1", "31s retry k#1 attempt 1 in 1s transient: timeout",
			"32s try k#1", "32s recovered k#1 after 7", "32s try k#2",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, j := memBus(t), newJournal()
				end := time.Now().Add(20 * time.Second) // of the other worker's work
				failed := false
				r := start(t, b, bus.RunnerConfig{}, journaled(j, bus.Consumer{
					Topic: "orders", Group: "g", Retry: bus.RetryPolicy{MaxRetries: 1, Backoff: exact, Probe: exact},
					Handler: func(m *message.Message) error {
						left := time.Until(end)
						switch {
						case left > 0 && c.known:
							return fault.MarkBusy(errors.New("taken"), left)
						case left > 0:
							return fault.MarkBusy(errors.New("taken"), 0)
						case !failed:
							failed = true
							return errors.New("timeout")
						}
						return nil
					},
				}))
				publish(t, b, "orders", keyed("k", 1), keyed("k", 2))
				time.Sleep(time.Minute)
				synctest.Wait()
				r.stop(t)
				j.expect(t, slices.Concat(busy, c.then)...)
			})
		})
	}
}

// A wait for another worker is no failure: the dead letter's first failure comes after it.
func TestABusyMessageHasNotFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := memBus(t), time.Now()
		r := start(t, b, bus.RunnerConfig{}, bus.Consumer{
			Topic: "orders", Group: "g",
			Handler: func(*message.Message) error {
				if left := 20*time.Second - time.Since(began); left > 0 {
					return fault.MarkBusy(errors.New("taken"), left)
				}
				return fault.MarkPermanent(errors.New("sold out"))
			},
		})
		publish(t, b, "orders", keyed("k", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		if last := r.Status()[0].LastError; strings.Contains(last, "taken") {
			t.Errorf("the last error is %q", last)
		}
		r.stop(t)
		dead := browse(t, b, "orders.DLT")
		require.Len(t, dead, 1, "dead letters")
		first, err := time.Parse(time.RFC3339Nano, dead[0].Metadata[driver.DLQFirstFailure])
		if err != nil || first.Before(began.Add(20*time.Second)) || dead[0].Metadata[driver.DLQAttempts] != "1" {
			t.Errorf("it failed first after %v (%v), in %s attempts; want after 20 s, in one", first.Sub(began), err, dead[0].Metadata[driver.DLQAttempts])
		}
	})
}

func TestDefaultRetryHasJitterAndACap(t *testing.T) {
	p := bus.DefaultRetry()
	assert.Equal(t, 3, p.MaxRetries, "MaxRetries")
	for attempt, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 8 * time.Second, 9: 10 * time.Second} {
		seen := map[time.Duration]bool{}
		for range 200 {
			d := p.Backoff.Delay(attempt)
			seen[d] = true
			if d < want*8/10 || d > want*12/10 || d > 10*time.Second {
				t.Fatalf("attempt %d waits %s, want %s ± 20 %%, at most 10s", attempt, d, want)
			}
		}
		if len(seen) < 10 {
			t.Errorf("attempt %d: %d different delays of 200; there is no jitter", attempt, len(seen))
		}
	}
}

func TestFixedRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		fail := func(*message.Message) error { return errors.New("no") }
		r := start(t, b, bus.RunnerConfig{},
			journaled(j, bus.Consumer{Topic: "like-events", Group: "g", Retry: bus.FixedRetry(time.Second, 1), Handler: fail}))
		publish(t, b, "like-events", keyed("k", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(t)
		j.expect(t,
			"0s try k#1", "0s retry k#1 attempt 1 in 1s transient: no",
			"1s try k#1", "1s dead k#1 to like-events.DLT after 2 transient RETRIES_EXHAUSTED")
	})
	if p := bus.FixedRetry(time.Second, 0); p.MaxRetries >= 0 {
		t.Errorf("FixedRetry(…, 0) has MaxRetries %d, which means a default; want none", p.MaxRetries)
	}
	if d := bus.FixedRetry(0, 3).Backoff.Delay(3); d > time.Millisecond {
		t.Errorf("FixedRetry(0, …) waits %s, want at once", d)
	}
}

func TestPermanentIsADeadLetterAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		r := start(t, b, bus.RunnerConfig{}, journaled(j, bus.Consumer{
			Topic: "payment.events", Group: "g", DeadLetter: "dlq.payment",
			Handler: func(m *message.Message) error {
				return fmt.Errorf("handle: %w", fault.MarkPermanent(errors.New("amount is negative")))
			},
		}))
		publish(t, b, "payment.events", keyed("k", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(t)
		j.expect(t, "0s try k#1", "0s dead k#1 to dlq.payment after 1 permanent PERMANENT")
	})
}

// A key in backoff takes no worker: with room for one message at a time, other keys are handled
// while it waits for an hour.
func TestAKeyInBackoffHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		failed := false
		r := start(t, b, bus.RunnerConfig{}, journaled(j, bus.Consumer{
			Topic: "t", Group: "g", Concurrency: 1, Retry: bus.FixedRetry(time.Hour, 1),
			Handler: func(m *message.Message) error {
				if string(m.Payload) == "slow#1" && !failed {
					failed = true
					return errors.New("no")
				}
				return nil
			},
		}))
		publish(t, b, "t", keyed("slow", 1), keyed("slow", 2), keyed("a", 1), keyed("b", 1), keyed("a", 2))
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		r.stop(t)
		j.expect(t,
			"0s try slow#1", "0s retry slow#1 attempt 1 in 1h0m0s transient: no",
			"0s try a#1", "0s try b#1", "0s try a#2",
			"1h0m0s try slow#1", "1h0m0s recovered slow#1 after 2", "1h0m0s try slow#2")
		if s := r.Status()[0]; s.Handled != 5 || s.Retried != 1 || s.DeadLettered != 0 || s.LastError != "no" || s.Running {
			t.Errorf("status %+v", s)
		}
	})
}

func TestPanicIsTransientAndItsStackGoesIntoTheDeadLetter(t *testing.T) {
	for name, value := range map[string]any{
		"text": "boom",
		// The class of the panic's value says nothing about the panic.
		"permanent error": fault.MarkPermanent(errors.New("boom")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, j := memBus(t), newJournal()
				r := start(t, b, bus.RunnerConfig{}, journaled(j, bus.Consumer{
					Topic: "t", Group: "g", Retry: bus.FixedRetry(time.Second, 1),
					Handler: func(*message.Message) error { return explode(value) },
				}))
				publish(t, b, "t", keyed("k", 1))
				time.Sleep(time.Minute)
				synctest.Wait()
				r.stop(t)
				j.expect(t,
					"0s try k#1", "0s retry k#1 attempt 1 in 1s transient: bus: the handler panicked: boom",
					"1s try k#1", "1s dead k#1 to t.DLT after 2 transient PANIC")
				dead := browse(t, b, "t.DLT")[0]
				if stack := dead.Metadata[driver.DLQStack]; !strings.Contains(stack, "explode") || !strings.Contains(stack, "retry_test.go") {
					t.Errorf("the stack does not show where it panicked:\n%s", stack)
				}
			})
		})
	}
}

func explode(v any) error { panic(v) }

func TestClassifiersJudgeErrorsWithoutAClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		constraint := errors.New("unique constraint")
		r := start(t, b, bus.RunnerConfig{}, journaled(j, bus.Consumer{
			Topic: "t", Group: "g",
			Classifiers: []fault.Classifier{func(err error) fault.Class {
				if errors.Is(err, constraint) {
					return fault.Permanent
				}
				return fault.Unclassified
			}},
			Handler: func(*message.Message) error { return fmt.Errorf("insert: %w", constraint) },
		}))
		publish(t, b, "t", keyed("k", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(t)
		j.expect(t, "0s try k#1", "0s dead k#1 to t.DLT after 1 permanent PERMANENT")
	})
}

func TestBackoffAndRetryPolicyErrorsNameTheField(t *testing.T) {
	r, err := bus.NewRunner(memBus(t), bus.RunnerConfig{})
	require.NoError(t, err)
	ok := bus.Consumer{Topic: "t", Group: "g", Handler: func(*message.Message) error { return nil }}
	for want, p := range map[string]bus.RetryPolicy{
		"Retry.Backoff: Initial and Max": {Backoff: bus.Backoff{Initial: -1}},
		"Retry.Backoff: Multiplier":      {Backoff: bus.Backoff{Multiplier: 0.5}},
		"Retry.Probe: Jitter":            {Probe: bus.Backoff{Jitter: 2}},
	} {
		c := ok
		c.Retry = p
		if err := r.Add(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", p, err, want)
		}
	}
}
