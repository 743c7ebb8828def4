package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	syncatomic "sync/atomic"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
)

// counting is a relay that parks after three retries, with a dead letter.
func counting() outbox.RelayConfig {
	cfg := single()
	cfg.Ordering, cfg.MaxRetries, cfg.MaxAge = outbox.ByKey, 3, -1
	cfg.DeadLetter = func(topic string) string { return topic + ".DLT" }
	return cfg
}

func isDeadLetter(topic string) bool { return strings.HasSuffix(topic, ".DLT") }

// split separates messages on dead letter topics from the rest.
func split(got []Publication) (rest, dead []Publication) {
	for _, g := range got {
		if isDeadLetter(g.Topic) {
			dead = append(dead, g)
		} else {
			rest = append(rest, g)
		}
	}
	return rest, dead
}

// maxRetries has one event of a key fail while others are published.
func maxRetries(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	steps.Do(w.write(ctx, "bad", "good", "bad"))
	first := w.all[0]
	var tries syncatomic.Int32
	p := &Publisher{Fail: func(topic string, e event.Event) error {
		if e.ID != first.ID || isDeadLetter(topic) {
			return nil
		}
		tries.Add(1)
		return errors.New("refused for ever")
	}}
	cfg := counting()
	parked := make(chan string, 10)
	cfg.Hooks.Parked = func(_ int, _, id string, _ error) { parked <- id }
	start := time.Now()
	err = with(ctx, h, p, cfg, func() error {
		for {
			if err := w.write(ctx, "good"); err != nil { // another event is published
				return err
			}
			select {
			case id := <-parked:
				if id != first.ID {
					return fmt.Errorf("parked %s, want the first event", id)
				}
				return p.WaitFor(ctx, len(w.all)) // one of them on the dead letter topic
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return fmt.Errorf("the failing event was not parked: %w", ctx.Err())
			}
		}
	})
	if err != nil {
		return err
	}
	if n := tries.Load(); n < 4 {
		return fmt.Errorf("the event was parked after %d attempts, want a first one and 3 retries", n)
	}
	rest, dead := split(p.Published())
	steps.Do(parkedWith(ctx, h, first, dead, int(tries.Load()), start))
	w.all = slices.DeleteFunc(w.all, func(e event.Event) bool { return e.ID == first.ID })
	return errors.Join(w.once(rest), w.close(ctx))
}

// parkedWith checks that the event is parked and has left one dead letter.
func parkedWith(ctx context.Context, h Harness, e event.Event, dead []Publication, attempts int, since time.Time) error {
	if store, ok := h.Store.(driver.Parking); ok {
		list, err := store.Parked(ctx, 0, 10)
		if err != nil {
			return err
		}
		if len(list) != 1 || list[0].MessageID != e.ID || list[0].Attempts != attempts || list[0].LastError != "refused for ever" {
			return fmt.Errorf("the parked events are %+v, want the first with its error and %d attempts", list, attempts)
		}
	}
	if len(dead) != 1 || dead[0].Topic != "events.DLT" || dead[0].Event.ID != e.ID {
		return fmt.Errorf("%d dead letters were published, want one of the first event in events.DLT", len(dead))
	}
	m := dead[0].Message.Metadata
	for name, want := range map[string]string{
		"dlq_original_topic": "events", "dlq_group": "outbox", "dlq_reason": "RETRIES_EXHAUSTED", "dlq_class": "transient",
		"dlq_error": "refused for ever", "dlq_attempts": fmt.Sprint(attempts), event.KeyHeader: e.Key(),
	} {
		if m[name] != want {
			return fmt.Errorf("the dead letter's %s is %q, want %q", name, m[name], want)
		}
	}
	for _, name := range []string{"dlq_first_failure", "dlq_last_failure"} {
		at, err := time.Parse(time.RFC3339Nano, m[name])
		if err != nil || at.Before(since.Add(-time.Second)) || time.Until(at) > time.Second {
			return fmt.Errorf("the dead letter's %s is %q (%v), want a time of this run", name, m[name], err)
		}
	}
	return nil
}

// lonePoison has no other event beside the failing one: only its dead letter can show that the
// publisher works.
func lonePoison(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	steps.Do(w.write(ctx, "bad"))
	var tries syncatomic.Int32
	p := &Publisher{Fail: func(topic string, _ event.Event) error {
		if isDeadLetter(topic) {
			return nil
		}
		tries.Add(1)
		return errors.New("refused for ever")
	}}
	start := time.Now()
	steps.Do(drain(ctx, h, p, counting()))
	if n := tries.Load(); n != 4 {
		return fmt.Errorf("the lone event was parked after %d attempts, want a first one and 3 retries", n)
	}
	rest, dead := split(p.Published())
	if len(rest) != 0 {
		return fmt.Errorf("%d refused events were published", len(rest))
	}
	return errors.Join(parkedWith(ctx, h, w.all[0], dead, 4, start), w.close(ctx))
}

// awaySpendsNothing has a publisher that is unreachable for many times the retries: with
// classified errors, then with unclassified ones.
func awaySpendsNothing(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	for range 3 {
		steps.Do(w.write(ctx, keys(5, "k")...))
	}
	p := newPoison(nil)
	cfg := counting()
	var early syncatomic.Pointer[string]
	cfg.Hooks.Parked = func(_ int, _, id string, _ error) { early.Store(&id) }
	for _, away := range []error{fault.MarkInfrastructure(errors.New("away")), errors.New("away")} {
		p.mu.Lock()
		p.refuse, p.tries = map[string]error{"*": away}, 0
		p.mu.Unlock()
		err := with(ctx, h, &p.Publisher, cfg, func() error {
			return eventually(ctx, "attempts", func() (bool, error) { return p.tried() >= 60, nil })
		})
		if err != nil {
			return err
		}
	}
	p.cure()
	steps.Do(drain(ctx, h, &p.Publisher, cfg))
	if id := early.Load(); id != nil {
		return fmt.Errorf("parked %s although nothing got through", *id)
	}
	return errors.Join(w.once(p.Published()), w.close(ctx))
}

// refusedDeadLetter refuses the event and its dead letter, while others are published.
func refusedDeadLetter(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	steps.Do(w.write(ctx, "bad", "good"))
	first := w.all[0].ID
	p := &Publisher{Fail: func(_ string, e event.Event) error {
		if e.ID == first {
			return errors.New("too large")
		}
		return nil
	}}
	cfg := counting()
	parked := make(chan string, 10)
	cfg.Hooks.Parked = func(_ int, _, id string, _ error) { parked <- id }
	err = with(ctx, h, p, cfg, func() error {
		for {
			if err := w.write(ctx, "good"); err != nil {
				return err
			}
			select {
			case <-parked:
				return p.WaitFor(ctx, len(w.all)-1)
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return fmt.Errorf("an event whose dead letter is refused was not parked: %w", ctx.Err())
			}
		}
	})
	w.all = slices.DeleteFunc(w.all, func(e event.Event) bool { return e.ID == first })
	return errors.Join(err, w.once(p.Published()), w.close(ctx))
}
