package bustest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/steps"
)

func batchCases() []Case {
	return []Case{
		{"BatchesFillAndKeepOrder", batchesFill},
		{"BatchPartialFailure", batchPartialFailure},
		{"PairHoldsLowWhileHighIsBehind", pairHoldsLow},
		{"ObsoleteIsSkipped", obsoleteIsSkipped},
	}
}

// batchesFill has one key with more messages than a batch holds: a batch has to fill with
// messages of that key, all of them unacknowledged.
func batchesFill(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	const size, hot, keys, each = 50, 200, 5, 10
	batch := series("hot", 1, hot)
	for k := range keys {
		batch = append(batch, series(keyed(k), 1, each)...)
	}
	topic, group := steps.Two(published(ctx, env.Bus, batch...))
	seen := newTrail(env.Bus)
	var mu sync.Mutex
	largest := 0
	r := steps.Get(run(ctx, env.Bus, bus.BatchConsumer{
		Topic: topic, Group: group, Size: size, Wait: 200 * time.Millisecond, Concurrency: 2,
		Handler: func(_ context.Context, messages []*message.Message) error {
			ofHot := 0
			for _, m := range messages {
				seen.add(m)
				if event.Key(m) == "hot" {
					ofHot++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			largest = max(largest, ofHot)
			if len(messages) > size {
				largest = -1 << 20
			}
			return nil
		},
	}))
	err = seen.wait(ctx, hot+keys*each)
	r.finish(&err)
	if err != nil {
		return err
	}
	steps.Do(seen.inOrder("hot", payloads("hot", 1, hot)))
	steps.Do(eachKey(keys, each, seen.inOrder))
	if largest < size/2 {
		return fmt.Errorf("at most %d messages of one key were in a batch of %d", largest, size)
	}
	return nil
}

// batchPartialFailure has a message that fails once, one that always fails, and a key that keeps
// its order behind the first.
func batchPartialFailure(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group, reader := name("topic"), name("group"), name("reader")
	steps.Do(errors.Join(declare(ctx, env.Bus, topic, group), declare(ctx, env.Bus, topic+".DLT", reader)))
	seen := newTrail(env.Bus)
	var once atomic.Bool
	r := steps.Get(run(ctx, env.Bus, bus.BatchConsumer{
		Topic: topic, Group: group, Size: 20, Wait: 200 * time.Millisecond, Retry: bus.FixedRetry(time.Millisecond, 3),
		Handler: func(_ context.Context, messages []*message.Message) error {
			failed := bus.BatchError{}
			stopped := map[string]bool{}
			for i, m := range messages {
				key := event.Key(m)
				switch {
				case stopped[key]:
					failed[i] = bus.ErrHeldBack
				case string(m.Payload) == "a#3" && !once.Swap(true):
					stopped[key] = true
					failed[i] = errors.New("timeout")
				case string(m.Payload) == "b#2":
					failed[i] = fault.MarkPermanent(errors.New("invalid"))
				default:
					seen.add(m)
				}
			}
			return failed.OrNil()
		},
	}))
	defer r.finish(&err)
	steps.Do(env.Bus.Publisher().Publish(topic, append(series("a", 1, 8), series("b", 1, 8)...)...))
	steps.Do(seen.wait(ctx, 15))
	steps.Do(seen.inOrder("a", payloads("a", 1, 8)))
	steps.Do(seen.inOrder("b", append(payloads("b", 1, 1), payloads("b", 3, 8)...)))
	return getsAll(ctx, env.Bus, topic+".DLT", reader, "b#2")
}

// pairHoldsLow lets the high topic fall behind before the low topic has messages.
func pairHoldsLow(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	const backlog = 30
	high, low, group := name("high"), name("low"), name("group")
	steps.Do(errors.Join(declare(ctx, env.Bus, high, group), declare(ctx, env.Bus, low, group)))
	steps.Do(env.Bus.Publisher().Publish(high, series("k", 1, backlog)...))
	monitor := steps.Get(bus.NewLagMonitor(env.Bus, bus.LagMonitorConfig{Every: 50 * time.Millisecond, MaxAge: time.Minute}))
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- monitor.Run(watching) }()
	defer func() {
		stop()
		err = errors.Join(err, <-done)
	}()

	release := make(chan struct{})
	var lowRan atomic.Int32
	lowSeen, highSeen := newTrail(env.Bus), newTrail(env.Bus)
	r := steps.Get(run(ctx, env.Bus, bus.Pair{
		High: bus.Consumer{Topic: high, Group: group, Handler: func(m *message.Message) error {
			select {
			case <-release:
			case <-m.Context().Done():
				return m.Context().Err()
			}
			highSeen.add(m)
			return nil
		}},
		Low:       bus.Consumer{Topic: low, Group: group, Handler: func(m *message.Message) error { lowRan.Add(1); lowSeen.add(m); return nil }},
		HoldAbove: backlog / 2, ResumeBelow: 1, Lag: monitor,
	}))
	defer r.finish(&err)
	held := func(want bool) error {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for s := r.Status()[1]; s.Held != want || !s.Running; s = r.Status()[1] {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("the low consumer is %+v, want held %t: %w", r.Status()[1], want, ctx.Err())
			}
		}
		return nil
	}
	err = held(true)
	if err == nil {
		err = env.Bus.Publisher().Publish(low, msg("k", 1))
	}
	if err == nil && lowRan.Load() != 0 {
		err = errors.New("the low consumer ran while it was held back")
	}
	close(release)
	if err != nil {
		return err
	}
	steps.Do(errors.Join(highSeen.wait(ctx, backlog), lowSeen.wait(ctx, 1)))
	return held(false)
}

func obsoleteIsSkipped(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := name("topic"), name("group")
	steps.Do(declare(ctx, env.Bus, topic, group))
	seen := newTrail(env.Bus)
	r := steps.Get(run(ctx, env.Bus, bus.Consumer{
		Topic: topic, Group: group, Handler: func(m *message.Message) error { seen.add(m); return nil },
		Current: func(_ context.Context, key string) (uint64, error) {
			if key != "artist" {
				return 0, fmt.Errorf("asked for key %q", key)
			}
			return 3, nil
		},
	}))
	defer r.finish(&err)
	for sequence := range uint64(10) {
		e := steps.Get(event.New("UpdateRequest", "bustest", sequence))
		e.ID, e.AggregateID, e.Sequence = uuid.NewString(), "artist", sequence
		m := steps.Get(event.Binary{}.Encode(e))
		steps.Do(env.Bus.Publisher().Publish(topic, m))
	}
	steps.Do(seen.wait(ctx, 8))
	// Sequence 0 means none, so the event is always handled.
	steps.Do(seen.inOrder("artist", []string{"0", "3", "4", "5", "6", "7", "8", "9"}))
	if s := r.Status()[0]; s.Obsolete != 2 {
		return fmt.Errorf("status is %+v, want 2 obsolete", s)
	}
	return nil
}
