package millracetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// Failure is a failed attempt.
type Failure struct {
	Group   string
	Event   event.Event // the first event of a batch
	Err     error
	Attempt int    // 1 for the first
	Then    string // the decision about the event, e.g. "the next attempt is due in 1s"
	// DeadLetter is the topic of the dead letter that the event became, or "".
	DeadLetter string
}

func (f Failure) String() string {
	return fmt.Sprintf("group %s, %s %s, attempt %d: %v; %s", f.Group, f.Event.Type, f.Event.ID, f.Attempt, f.Err, f.Then)
}

// group is a consumer and its queue.
type group struct {
	topic, name string
	retry       bus.RetryPolicy
	letters     string // the topic of its dead letters
	classifiers []fault.Classifier
	size        int // the most deliveries of one attempt
	run         func(ctx context.Context, all []*delivery) error

	queue   []*delivery
	handled []*message.Message
	paused  time.Duration // until then the group handles nothing
}

// delivery is a message in a group's queue.
type delivery struct {
	message  *message.Message
	key      string
	attempts int           // failed attempts because of the message itself
	pauses   int           // failed attempts because of a dependency
	due      time.Duration // by the kit's clock
	alone    bool          // a batch with it failed
}

// event decodes the message; if that fails, the event has only an id.
func (d *delivery) event() event.Event {
	e, err := event.Decode(d.message)
	if err != nil {
		return event.Event{ID: d.message.UUID}
	}
	return e
}

// newGroup copies the settings of a consumer of the front door.
func newGroup(c bus.AnyConsumer) *group {
	var g *group
	switch c := c.(type) {
	case bus.Consumer:
		handle := message.HandlerFunc(func(m *message.Message) ([]*message.Message, error) { return nil, c.Handler(m) })
		for _, wrap := range slices.Backward(c.Middleware) {
			handle = wrap(handle)
		}
		g = &group{
			topic: c.Topic, name: c.Group, retry: c.Retry, letters: c.DeadLetter, classifiers: c.Classifiers, size: 1,
			run: bounded(c.Timeout, func(ctx context.Context, all []*delivery) error {
				m := all[0].message.Copy()
				m.SetContext(ctx)
				_, err := handle(m)
				return err
			}),
		}
	case bus.BatchConsumer:
		g = &group{
			topic: c.Topic, name: c.Group, retry: c.Retry, letters: c.DeadLetter, classifiers: c.Classifiers, size: c.Size,
			run: bounded(c.Timeout, func(ctx context.Context, all []*delivery) error {
				var events []event.Event
				for _, d := range all {
					e, err := event.Decode(d.message)
					if err != nil {
						return fault.MarkPermanent(err)
					}
					if c.Guarded.Handles(e.Type) {
						events = append(events, e)
					}
				}
				if len(events) == 0 {
					return nil
				}
				return c.Guarded.HandleEvents(ctx, events)
			}),
		}
		if g.size == 0 {
			g.size = 100 // the default of BatchConsumer.Size
		}
	default:
		panic(fmt.Sprintf("millracetest: a %T", c)) // the front door makes no other type
	}
	standard := bus.DefaultRetry()
	if g.retry.MaxRetries == 0 {
		g.retry.MaxRetries = standard.MaxRetries
	}
	if g.retry.Backoff == (bus.Backoff{}) {
		g.retry.Backoff = standard.Backoff
	}
	if g.retry.Probe == (bus.Backoff{}) {
		g.retry.Probe = standard.Probe
	}
	g.retry.Backoff.Jitter, g.retry.Probe.Jitter = 0, 0 // a test is the same each time
	g.letters = cmp.Or(g.letters, g.topic+".DLT")
	return g
}

// bounded returns a handler with its consumer's Timeout; a panic of the handler becomes an
// error.
func bounded(timeout time.Duration, run func(context.Context, []*delivery) error) func(context.Context, []*delivery) error {
	return func(ctx context.Context, all []*delivery) (err error) {
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, timeout, bus.ErrHandlerTimeout)
			defer cancel()
		}
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the handler panicked: %v", p)
			}
		}()
		return run(ctx, all)
	}
}

func (g *group) add(m *message.Message) {
	g.queue = append(g.queue, &delivery{message: m, key: event.Key(m)})
}

// ready returns the deliveries that are due now, in order; deliveries of a key wait behind a
// waiting delivery of the key.
func (g *group) ready(now time.Duration) (all []*delivery) {
	if g.paused > now {
		return nil
	}
	waiting := map[string]bool{}
	for _, d := range g.queue {
		switch {
		case waiting[d.key]:
		case d.due > now, d.alone && len(all) > 0:
			waiting[d.key] = true
		default:
			if all = append(all, d); d.alone || len(all) == g.size {
				return all
			}
		}
	}
	return all
}

// done removes deliveries from the queue.
func (g *group) done(all []*delivery) {
	g.queue = slices.DeleteFunc(g.queue, func(d *delivery) bool { return slices.Contains(all, d) })
}

// settle records the result of an attempt, by the rules of package bus.
func (k *Kit[Tx]) settle(g *group, all []*delivery, err error) []Failure {
	d := all[0]
	if err == nil {
		g.done(all)
		for _, d := range all {
			g.handled = append(g.handled, d.message)
		}
		return nil
	}
	f := Failure{Group: g.name, Event: d.event(), Err: err, Attempt: d.attempts + d.pauses + 1}
	class := fault.Of(err, g.classifiers...)
	switch {
	case class == fault.Infrastructure:
		d.pauses++
		wait := g.retry.Probe.Delay(d.pauses)
		g.paused = k.now + wait
		f.Then = fmt.Sprintf("the group pauses for %s", wait)
	case len(all) > 1:
		wait := time.Duration(0)
		if class == fault.Transient {
			wait = g.retry.Backoff.Delay(1)
		}
		for _, d := range all {
			d.alone, d.due = true, k.now+wait
		}
		f.Then = fmt.Sprintf("the %d events of the batch are handled one by one, in %s", len(all), wait)
	case class == fault.Busy:
		d.pauses++
		wait := g.retry.Probe.Delay(d.pauses)
		if w := fault.Wait(err); w > 0 {
			wait = min(wait, w)
		}
		d.due = k.now + wait
		f.Then = fmt.Sprintf("another worker is at it; the next attempt is due in %s", wait)
	case class == fault.Transient && d.attempts < g.retry.MaxRetries:
		d.attempts++
		wait := g.retry.Backoff.Delay(d.attempts)
		d.due = k.now + wait
		f.Then = fmt.Sprintf("the next attempt is due in %s", wait)
	default:
		g.done(all)
		f.DeadLetter, f.Then = g.letters, "it is a dead letter of "+g.letters
		k.letters = append(k.letters, f)
	}
	return []Failure{f}
}
