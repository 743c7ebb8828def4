package bustest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/internal/tcpproxy"
)

func absentCases() []Case {
	return []Case{{"AnAbsentServerIsWaitedFor", absentServer}}
}

// Absent is for a transport that has a server. at opens a bus on a store of its own; the server
// in its URL is address, host:port, where no process listens yet. server is the real address:
// the case forwards address to it later. The case closes the bus.
func Absent(at func(t *testing.T, address string) (b *bus.Bus, server string)) Option {
	return func(o *options) { o.absent = at }
}

// absence implements Env.Absent with a real server.
func (o options) absence(t *testing.T) (b *bus.Bus, arrive func() error, err error) {
	address, err := tcpproxy.Vacant()
	if err != nil {
		return nil, nil, err
	}
	b, server := o.absent(t, address)
	return b, func() error {
		p, err := tcpproxy.At(address, server)
		if err == nil {
			t.Cleanup(func() {
				if err := p.Close(); err != nil {
					t.Errorf("close the proxy: %v", err)
				}
			})
		}
		return err
	}, nil
}

const (
	soon   = 20 * time.Second       // a call that does not dial takes far less
	moment = 300 * time.Millisecond // how long a caller of an absent server waits
	late   = 20 * time.Second       // far longer than the caller needs to get its error after that
)

// absentServer opens a bus whose server is absent. Writers fail in time, consumers wait and log
// it, and both continue when the server is available.
func absentServer(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	began := time.Now()
	b, arrive, err := env.Absent()
	steps.Named(err, "open while the server is absent")
	defer func() { err = errors.Join(err, b.Close()) }()
	if took := time.Since(began); took > soon {
		return fmt.Errorf("opening took %s while the server is absent", took)
	}
	topic, other := name("topic"), name("topic")
	for what, do := range map[string]func(ctx context.Context) error{
		"ping":    b.Ping,
		"declare": func(ctx context.Context) error { return declare(ctx, b, topic, name("group")) },
		"publish": func(ctx context.Context) error {
			m := msg("k", 0)
			m.SetContext(ctx)
			err := b.Publisher().Publish(topic, m)
			if wrong := became(err, 1, driver.NotSent, driver.Unknown); wrong != nil {
				return fault.MarkPermanent(wrong)
			}
			return err
		},
	} {
		steps.Do(failsInTime(ctx, what, do))
	}

	warned := make(warnings, 1000)
	stopped, stop := context.WithCancel(ctx)
	defer stop()
	first := steps.Get(waiting(stopped, b, topic, newTrail(b), warned))
	steps.Do(warned.next(ctx))
	stop()
	select {
	case err := <-first.done:
		steps.Named(err, "a runner that was stopped while it waits")
	case <-time.After(late):
		return errors.New("a runner that waits does not stop")
	}

	seen := newTrail(b)
	running, end := context.WithCancel(ctx)
	second, err := waiting(running, b, topic, seen, warned)
	if err != nil {
		end()
		return err
	}
	second.stop = end
	defer second.finish(&err)
	sub := steps.Get(b.Subscriber(name("group"), bus.SubscriberConfig{Logger: slog.New(slog.NewTextHandler(warned, nil))}))
	subscribed := make(chan error, 1)
	listening := &subscribing{Subscriber: sub, ordered: ordered(b)}
	go func() {
		var err error
		listening.ch, err = sub.Subscribe(ctx, other)
		subscribed <- err
	}()
	for range 4 { // about two tries of each
		if err := warned.next(ctx); err != nil {
			return errors.Join(err, sub.Close(), <-subscribed)
		}
	}
	select {
	case <-second.Running():
		return errors.Join(errors.New("a runner runs without a server"), sub.Close(), <-subscribed)
	default:
	}

	if err := arrive(); err != nil {
		return errors.Join(err, sub.Close(), <-subscribed)
	}
	if err := <-subscribed; err != nil {
		return errors.Join(fmt.Errorf("subscribe, when the server is there: %w", err), sub.Close())
	}
	defer listening.closing(&err)
	select {
	case <-second.Running():
	case err := <-second.done:
		second.done <- nil
		return fmt.Errorf("the runner ended: %w", err)
	case <-ctx.Done():
		return fmt.Errorf("the server is there, and the runner does not run: %w", ctx.Err())
	}
	steps.Named(b.Ping(ctx), "ping, when the server is there")
	for _, to := range []string{topic, other} {
		steps.Named(b.Publisher().Publish(to, msg("k", 1)), "publish, when the server is there")
	}
	steps.Do(seen.wait(ctx, 1))
	return listening.expectAll(ctx, "k#1")
}

// failsInTime checks that a call fails as infrastructure by the deadline of its context.
func failsInTime(ctx context.Context, what string, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	began := time.Now()
	switch err := do(ctx); {
	case err == nil:
		return fmt.Errorf("%s: got no error, and the server is absent", what)
	case fault.Of(err) != fault.Infrastructure:
		return fmt.Errorf("%s: the error is classified as %s, want infrastructure: %w", what, fault.Of(err), err)
	case time.Since(began) > moment+late:
		return fmt.Errorf("%s: took %s, its context %s", what, time.Since(began), moment)
	}
	return nil
}

// waiting starts a Runner whose server is absent.
func waiting(ctx context.Context, b *bus.Bus, topic string, seen *trail, warned warnings) (*running, error) {
	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: slog.New(slog.NewTextHandler(warned, nil)), DrainTimeout: 20 * time.Second})
	if err != nil {
		return nil, err
	}
	err = r.Add(bus.Consumer{Topic: topic, Group: name("group"), Handler: func(m *message.Message) error {
		seen.add(m)
		return nil
	}})
	if err != nil {
		return nil, err
	}
	x := &running{Runner: r, done: make(chan error, 1)}
	go func() { x.done <- r.Run(ctx) }()
	return x, nil
}

// warnings is a log that sends each line. Lines that no reader waits for are dropped.
type warnings chan struct{}

func (w warnings) Write(line []byte) (int, error) {
	select {
	case w <- struct{}{}:
	default:
	}
	return len(line), nil
}

func (w warnings) next(ctx context.Context) error {
	select {
	case <-w:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no warning says that a consumer waits: %w", ctx.Err())
	}
}
