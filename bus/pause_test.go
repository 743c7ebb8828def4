package bus_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

var errDown = fault.MarkInfrastructure(errors.New("connection refused"))

// probing is a retry policy that turns any counted failure into a dead letter, and probes
// without jitter.
var probing = bus.RetryPolicy{MaxRetries: -1, Probe: exact}

func TestPauseProbesWithBackoffAndResumesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		var down atomic.Bool
		down.Store(true)
		r := start(t, b, bus.RunnerConfig{}, journaled(j, bus.Consumer{
			Topic: "t", Group: "g", Concurrency: 1, Retry: probing,
			Handler: func(*message.Message) error {
				if down.Load() {
					return errDown
				}
				return nil
			},
		}))
		publish(t, b, "t", keyed("a", 1), keyed("b", 1), keyed("a", 2))
		time.Sleep(80 * time.Second)
		synctest.Wait()
		if s := r.Status()[0]; !s.Paused || s.InFlight != 0 || s.LastError != "connection refused" {
			t.Errorf("status while down: %+v", s)
		}
		assert.Equal(t, 3, lag(t, b, "t", "g"), "of 3 messages are unacknowledged while down")
		down.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := r.Status()[0]; !s.Running || s.Paused || s.Held || s.Handled != 3 || s.DeadLettered != 0 {
			t.Errorf("status afterwards: %+v", s)
		}
		r.stop(t)
		j.expect(t,
			"0s try a#1", "0s pause, probe in 1s: connection refused",
			"1s try b#1", "1s retry b#1 attempt 0 in 2s infrastructure: connection refused",
			"3s try a#1", "3s retry a#1 attempt 0 in 4s infrastructure: connection refused",
			"7s try b#1", "7s retry b#1 attempt 0 in 8s infrastructure: connection refused",
			"15s try a#1", "15s retry a#1 attempt 0 in 16s infrastructure: connection refused",
			"31s try b#1", "31s retry b#1 attempt 0 in 30s infrastructure: connection refused",
			"1m1s try a#1", "1m1s retry a#1 attempt 0 in 30s infrastructure: connection refused",
			"1m31s try b#1", "1m31s recovered b#1 after 4", "1m31s resume after 1m31s",
			"1m31s try a#1", "1m31s recovered a#1 after 5", "1m31s try a#2")
		assert.Equal(t, 0, len(browse(t, b, "t.DLT")), "dead letters")
	})
}

// With many keys in flight when the dependency goes down, one message at a time probes, and at
// the end all waiting messages are retried at the same moment.
func TestPauseHasOneProberAndWakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 8
		b := memBus(t)
		var down atomic.Bool
		down.Store(true)
		var calls, atOnce, most atomic.Int32
		done := make(chan time.Time, keys)
		r := start(t, b, bus.RunnerConfig{}, bus.Consumer{
			Topic: "t", Group: "g", Concurrency: keys, Retry: probing,
			Handler: func(*message.Message) error {
				n := atOnce.Add(1)
				defer atOnce.Add(-1)
				if calls.Add(1) > keys && down.Load() {
					most.Store(max(most.Load(), n))
				}
				time.Sleep(100 * time.Millisecond)
				if down.Load() {
					return errDown
				}
				done <- time.Now()
				return nil
			},
		})
		for k := range keys {
			publish(t, b, "t", keyed(fmt.Sprint(k), 1))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		// All 8 at first, then probes at 1.1 s, 3.2 s, 7.3 s.
		assert.EqualValues(t, keys+3, calls.Load(), "attempts within 10 s of a pause")
		assert.EqualValues(t, 1, most.Load(), "handlers at work at once while paused, want 1 prober")
		down.Store(false)
		begin := time.Now()
		first := <-done // the probe
		for range keys - 1 {
			if at := <-done; at.Sub(first) != 100*time.Millisecond {
				t.Errorf("one that waited was handled %s after the probe, want at once (100ms of work)", at.Sub(first))
			}
		}
		if first.Sub(begin) > 16*time.Second {
			t.Errorf("the probe came %s after the recovery", first.Sub(begin))
		}
		r.stop(t)
	})
}

// A failure of a message's own while the consumer is paused is not counted: the next attempt,
// with the dependency back, shows whether the message is at fault.
func TestFailuresDuringAPauseAreNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		var down atomic.Bool
		down.Store(true)
		r := start(t, b, bus.RunnerConfig{}, journaled(j, bus.Consumer{
			Topic: "t", Group: "g", Retry: probing,
			Handler: func(m *message.Message) error {
				switch {
				case !down.Load():
					return nil
				case string(m.Payload) == "slow#1":
					time.Sleep(500 * time.Millisecond)
					return fault.MarkPermanent(errors.New("read an empty row"))
				}
				return errDown
			},
		}))
		publish(t, b, "t", keyed("slow", 1))
		synctest.Wait()
		publish(t, b, "t", keyed("a", 1))
		time.Sleep(700 * time.Millisecond)
		synctest.Wait()
		down.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(t)
		j.expect(t,
			"0s try slow#1", "0s try a#1", "0s pause, probe in 1s: connection refused",
			"1s try a#1", "1s recovered a#1 after 2", "1s resume after 1s",
			"1s try slow#1")
		assert.Equal(t, 0, len(browse(t, b, "t.DLT")), "dead letters")
	})
}

// The failure of a handler that began before the end of a pause is outdated: the message is
// retried, and the consumer does not pause.
func TestAnOldFailureDoesNotPauseAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, j := memBus(t), newJournal()
		var tries atomic.Int32
		r := start(t, b, bus.RunnerConfig{}, journaled(j, bus.Consumer{
			Topic: "t", Group: "g", Retry: probing,
			Handler: func(m *message.Message) error {
				switch n := tries.Add(1); {
				case n == 1: // hangs until its timeout
					time.Sleep(5 * time.Second)
					return errDown
				case n == 2:
					return errDown
				}
				return nil
			},
		}))
		publish(t, b, "t", keyed("hangs", 1))
		synctest.Wait()
		publish(t, b, "t", keyed("a", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(t)
		j.expect(t,
			"0s try hangs#1", "0s try a#1", "0s pause, probe in 1s: connection refused",
			"1s try a#1", "1s recovered a#1 after 2", "1s resume after 1s",
			"5s try hangs#1", "5s recovered hangs#1 after 2")
	})
}

// A dead letter that is refused blocks its key. Other keys resume once a probe has succeeded.
func TestADeadLetterThatCannotBePublishedPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, j := memBus(t), newJournal()
		var refuse atomic.Bool
		refuse.Store(true)
		b := bus.New("flaky", &flaky{Driver: mem.Driver(), scribble: true, refuse: func(topic string) error {
			if topic == "t.DLT" && refuse.Load() {
				return errors.New("broker away")
			}
			return nil
		}})
		r := start(t, b, bus.RunnerConfig{}, journaled(j, bus.Consumer{
			Topic: "t", Group: "g", Retry: probing, Concurrency: 1,
			Handler: func(m *message.Message) error {
				if string(m.Payload) == "k#1" {
					return fault.MarkPermanent(errors.New("invalid"))
				}
				return nil
			},
		}))
		publish(t, mem, "t", keyed("k", 1), keyed("k", 2), keyed("other", 1))
		time.Sleep(time.Second / 2)
		if s := r.Status()[0]; !s.Paused {
			t.Errorf("status %+v, want paused", s)
		}
		time.Sleep(5 * time.Second)
		refuse.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop(t)
		const failure = "dead letter of k#1: bus: publish to t.DLT: message k#1 may be published: broker away"
		j.expect(t,
			"0s try k#1", "0s pause, probe in 1s: "+failure,
			"1s try other#1", "1s resume after 1s",
			"1s retry k#1 attempt 1 in 2s infrastructure: "+failure,
			"3s retry k#1 attempt 1 in 4s infrastructure: "+failure,
			"7s dead k#1 to t.DLT after 1 permanent PERMANENT",
			"7s try k#2")
		if dead := browse(t, mem, "t.DLT"); len(dead) != 1 || dead[0].Metadata[driver.DLQAttempts] != "1" || dead[0].Metadata["attempted"] != "1" {
			t.Errorf("dead letters %v", dead)
		}
	})
}

// flaky is a driver whose publisher refuses the topics for which refuse returns an error.
type flaky struct {
	driver.Driver
	refuse   func(topic string) error
	scribble bool // overwrites the messages it publishes, as some publishers do
	calls    atomic.Int32
}

func (f *flaky) Publisher() message.Publisher { return flakyPublisher{f} }

type flakyPublisher struct{ *flaky }

func (p flakyPublisher) Publish(topic string, messages ...*message.Message) error {
	p.calls.Add(1)
	if p.scribble {
		for _, m := range messages {
			m.Metadata["attempted"] += "1"
		}
	}
	if p.refuse != nil {
		if err := p.refuse(topic); err != nil {
			return err
		}
	}
	return p.Driver.Publisher().Publish(topic, messages...)
}

func (flakyPublisher) Close() error { return nil }
