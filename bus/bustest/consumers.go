package bustest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/steps"
)

func consumerCases() []Case {
	return []Case{
		{"DrainOnShutdown", drainOnShutdown},
		{"PoisonMessageIsDeadLettered", poisonMessage},
		{"InfrastructurePauseLosesNothing", infrastructurePause},
		{"AMessageThatFailsAloneStopsOnlyItsKey", failsAlone},
		{"DeadLetterThatCannotBePublishedPauses", deadLetterOutage},
	}
}

// drainOnShutdown stops a Runner while a handler is at work: the handler finishes, its context
// lives, and exactly the handled messages are committed.
func drainOnShutdown(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := name("topic"), name("group")
	started, finish := make(chan struct{}), make(chan struct{})
	seen := newTrail(env.Bus)
	var handled atomic.Int32
	var ctxErr atomic.Value
	r := steps.Get(run(ctx, env.Bus, bus.Consumer{Topic: topic, Group: group, Handler: func(m *message.Message) error {
		if handled.Add(1) == 1 {
			close(started)
			<-finish
			if err := m.Context().Err(); err != nil {
				ctxErr.Store(err)
			}
		}
		seen.add(m)
		return nil
	}}))
	err = env.Bus.Publisher().Publish(topic, msg("k", 1), msg("k", 2))
	if err == nil {
		select {
		case <-started:
		case <-ctx.Done():
			err = fmt.Errorf("the handler was not called: %w", ctx.Err())
			close(started)
		}
	}
	r.stop()
	close(finish)
	r.finish(&err)
	if err != nil {
		return err
	}
	if e, ok := ctxErr.Load().(error); ok {
		return fmt.Errorf("the handler's context was cancelled while it drained: %w", e)
	}
	steps.Do(env.Bus.Publisher().Publish(topic, msg("k", 3)))
	rest := slices.DeleteFunc(payloads("k", 1, 3), func(p string) bool { return slices.Contains(seen.seen["k"], p) })
	return getsAll(ctx, env.Bus, topic, group, rest...)
}

// poisonMessage has one message that always fails. It is published to the dead letter topic with
// its bytes, the order of its key holds, and other keys do not wait.
func poisonMessage(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	const each = 10
	topic, group := name("topic"), name("group")
	reader := name("reader")
	steps.Do(declare(ctx, env.Bus, topic+".DLT", reader))
	seen, othersDone := newTrail(env.Bus), make(chan struct{})
	var others, tries atomic.Int32
	letters := make(chan bus.Report, 10)
	r := steps.Get(run(ctx, env.Bus, bus.Consumer{
		Topic: topic, Group: group, Retry: bus.FixedRetry(time.Millisecond, 2),
		Handler: func(m *message.Message) error {
			if string(m.Payload) == "bad#3" {
				if tries.Add(1) == 1 {
					<-othersDone // other keys flow while this key is stuck
				}
				m.Payload[0] = 'X' // changes by a handler must not show
				m.Metadata.Set("scribbled", "yes")
				return errors.New("poison")
			}
			seen.add(m)
			if event.Key(m) == "good" && others.Add(1) == each {
				close(othersDone)
			}
			return nil
		},
		Hooks: bus.Hooks{OnDeadLetter: func(d bus.Report) { letters <- d }},
	}))
	var batch []*message.Message
	for n := 1; n <= each; n++ {
		batch = append(batch, msg("bad", n), msg("good", n))
	}
	poison := batch[4]
	poison.Metadata.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	err = env.Bus.Publisher().Publish(topic, batch...)
	if err == nil {
		err = seen.wait(ctx, 2*each-1)
	}
	if err != nil {
		select {
		case <-othersDone:
		default:
			close(othersDone)
		}
	}
	r.finish(&err) // after this the status is complete
	if err != nil {
		return err
	}
	steps.Do(seen.inOrder("bad", append(payloads("bad", 1, 2), payloads("bad", 4, each)...)))
	steps.Do(seen.inOrder("good", payloads("good", 1, each)))
	sub := steps.Get(subscribe(ctx, env.Bus, reader, topic+".DLT"))
	defer sub.closing(&err)
	dead, err := sub.next(ctx)
	steps.Named(err, "the dead letter")
	dead.Ack()
	if dead.UUID != poison.UUID || string(dead.Payload) != "bad#3" {
		return fmt.Errorf("the dead letter is %s %q, want %s %q", dead.UUID, dead.Payload, poison.UUID, "bad#3")
	}
	want := map[string]string{
		driver.DLQOriginalTopic: topic, driver.DLQGroup: group, driver.DLQReason: bus.ReasonExhausted,
		driver.DLQClass: "transient", driver.DLQError: "poison", driver.DLQAttempts: "3", driver.DLQWorker: "worker-1", driver.DLQStack: "",
	}
	for k, v := range poison.Metadata {
		want[k] = v
	}
	for k, v := range want {
		if dead.Metadata[k] != v {
			return fmt.Errorf("the dead letter's %s is %q, want %q", k, dead.Metadata[k], v)
		}
	}
	if v, ok := dead.Metadata["scribbled"]; ok {
		return fmt.Errorf("the dead letter carries what the handler wrote: %q", v)
	}
	first, err1 := time.Parse(time.RFC3339, dead.Metadata[driver.DLQFirstFailure])
	last, err2 := time.Parse(time.RFC3339, dead.Metadata[driver.DLQLastFailure])
	steps.Do(errors.Join(err1, err2))
	if !last.After(first) {
		return fmt.Errorf("the last failure %s is not after the first %s", last, first)
	}
	if s := r.Status()[0]; s.DeadLettered != 1 || s.Retried != 2 || s.Handled != 2*each-1 {
		return fmt.Errorf("status is %+v, want 1 dead letter, 2 retries, %d handled", s, 2*each-1)
	}
	return nil
}

// infrastructurePause has a dependency that is down for a while in the middle.
func infrastructurePause(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	const keys, each = 4, 10
	topic, group := name("topic"), name("group")
	seen := newTrail(env.Bus)
	down := errors.New("connection refused")
	var calls, letters, pauses, resumes atomic.Int32
	r := steps.Get(run(ctx, env.Bus, bus.Consumer{
		Topic: topic, Group: group,
		Retry: bus.RetryPolicy{MaxRetries: -1, Probe: atOnce}, // a single counted failure would be a dead letter
		Classifiers: []fault.Classifier{func(err error) fault.Class {
			if errors.Is(err, down) {
				return fault.Infrastructure
			}
			return fault.Unclassified
		}},
		Handler: func(m *message.Message) error {
			if n := calls.Add(1); n > 8 && n <= 30 {
				return fmt.Errorf("select: %w", down)
			}
			seen.add(m)
			return nil
		},
		Hooks: bus.Hooks{
			OnDeadLetter: func(bus.Report) { letters.Add(1) },
			OnPause:      func(bus.Report) { pauses.Add(1) },
			OnResume:     func(bus.Report) { resumes.Add(1) },
		},
	}))
	defer r.finish(&err)
	steps.Do(publishInTurn(env.Bus, topic, keys, 1, each))
	steps.Do(seen.wait(ctx, keys*each))
	steps.Do(eachKey(keys, each, seen.inOrder))
	if p, q, l := pauses.Load(), resumes.Load(), letters.Load(); p == 0 || p != q || l != 0 {
		return fmt.Errorf("%d pauses, %d resumes, %d dead letters; want as many resumes as pauses and no dead letter", p, q, l)
	}
	return nil
}

// failsAlone has one message that always fails as if a dependency were down. Other keys go on,
// and when they have passed it for long enough it becomes a dead letter.
func failsAlone(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	const keys, each, window = 6, 40, 10
	topic, group := name("topic"), name("group")
	steps.Do(declare(ctx, env.Bus, topic+".DLT", name("reader")))
	seen := newTrail(env.Bus)
	var letters atomic.Int32
	tried := make(chan struct{})
	var once sync.Once
	r := steps.Get(run(ctx, env.Bus, bus.Consumer{
		Topic: topic, Group: group, Window: window, Concurrency: 4,
		Retry: bus.RetryPolicy{MaxRetries: -1, Probe: atOnce},
		Handler: func(m *message.Message) error {
			if string(m.Payload) == "bad#1" {
				once.Do(func() { close(tried) })
				return fault.MarkInfrastructure(errors.New("statement timeout"))
			}
			seen.add(m)
			return nil
		},
		Hooks: bus.Hooks{OnDeadLetter: func(d bus.Report) {
			if string(d.Message.Payload) == "bad#1" {
				letters.Add(1)
			}
		}},
	}))
	defer r.finish(&err)
	steps.Do(env.Bus.Publisher().Publish(topic, series("bad", 1, 2)...))
	select { // messages of others count from now on
	case <-tried:
	case <-ctx.Done():
		return fmt.Errorf("the first message was not handled: %w", ctx.Err())
	}
	steps.Do(publishInTurn(env.Bus, topic, keys, 1, each))
	steps.Do(seen.wait(ctx, keys*each+1))
	steps.Do(eachKey(keys, each, seen.inOrder))
	if n := letters.Load(); n != 1 {
		return fmt.Errorf("%d dead letters of the message that fails alone, want 1", n)
	}
	return seen.inOrder("bad", payloads("bad", 2, 2))
}

// deadLetterOutage cannot happen on a healthy transport, so a publisher in between refuses the
// policy's topic for a while.
func deadLetterOutage(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	topic, group := name("topic"), name("group")
	reader := name("reader")
	steps.Do(declare(ctx, env.Bus, topic+".DLT", reader))
	broken := bus.New("broken", refusing{Driver: env.Bus.Driver(), topic: topic + ".DLT", left: new(atomic.Int32)})
	broken.Driver().(refusing).left.Store(3)
	seen := newTrail(env.Bus)
	var runs atomic.Int32
	r := steps.Get(run(ctx, broken, bus.Consumer{
		Topic: topic, Group: group, Retry: bus.RetryPolicy{MaxRetries: -1, Probe: atOnce},
		Handler: func(m *message.Message) error {
			if string(m.Payload) == "k#1" {
				runs.Add(1)
				return fault.MarkPermanent(errors.New("invalid"))
			}
			seen.add(m)
			return nil
		},
	}))
	defer r.finish(&err)
	steps.Do(env.Bus.Publisher().Publish(topic, series("k", 1, 3)...))
	steps.Do(seen.wait(ctx, 2))
	steps.Do(getsAll(ctx, env.Bus, topic+".DLT", reader, "k#1"))
	if n := runs.Load(); n != 1 {
		return fmt.Errorf("the handler ran %d times while its dead letter could not be published, want once", n)
	}
	return nil
}

// refusing is a driver that refuses to publish to one topic a number of times.
type refusing struct {
	driver.Driver
	topic string
	left  *atomic.Int32
}

func (r refusing) Publisher() message.Publisher {
	return refusingPublisher{r.Driver.Publisher(), r}
}

type refusingPublisher struct {
	message.Publisher
	refusing
}

func (p refusingPublisher) Publish(topic string, messages ...*message.Message) error {
	if topic == p.topic && p.left.Add(-1) >= 0 {
		return errors.New("broker unreachable")
	}
	return p.Publisher.Publish(topic, messages...)
}

func (p refusingPublisher) Close() error { return p.Publisher.Close() }
