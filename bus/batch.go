package bus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// BatchConsumer is a [Consumer] whose handler gets up to Size messages at once. Use it for work
// that costs little more for a hundred messages than for one, such as an upsert. Only Topic,
// Group and one of Handler and Guarded are required.
//
// A batch holds the messages of a key in the order they arrived. While a batch is out, no other
// batch holds messages of its keys. A failed message is redelivered before any later message of
// its key that was not in the batch. Later messages of the key in the same batch are done unless
// the handler names them too: a handler that works message by message stops a key at its first
// failure and reports the rest of that key with [ErrHeldBack].
//
//	result of the handler           effect
//	nil                             all are acknowledged
//	a BatchError                    those it names fail, each by its own error as in a Consumer: retry,
//	                                dead letter or pause; the others are acknowledged
//	infrastructure                  the consumer pauses; nothing is acknowledged; one message probes
//	transient, of several messages  after the backoff each is handed over alone
//	permanent, of several messages  each is handed over alone at once, so that only the culprit is a dead letter
//	any error, of a single message  as in a Consumer
//
// A batch fills from the Window of unacknowledged messages that the transport hands over. If the
// transport hands over one unacknowledged message per partition, a batch holds at most one
// message per partition, and is handed over after Wait.
type BatchConsumer struct {
	Topic string
	Group string
	// Handler handles messages together; see [HandleBatch]. nil means that all are done; a
	// [BatchError] names those that failed; any other error applies to the whole batch. The context
	// ends when every message of the batch was taken back; each message's own context ends when
	// that one is.
	Handler func(ctx context.Context, messages []*message.Message) error
	// Guarded replaces Handler where each event must have one effect; see [Consumer]. HandleBatch
	// of idempotency.Guard makes one. HandleEvents handles events of types that Handles reports; see
	// [HandleBatch]. Its error, also a [BatchError], applies to all of them, because a guard rolls
	// all of them back.
	Guarded interface {
		Group() string
		Handles(eventType string) bool
		HandleEvents(ctx context.Context, events []event.Event) error
	}

	// Size is the most messages of one batch; 100 by default.
	Size int
	// Wait is how long a batch that is not full waits, counted from the moment at which its
	// first message could be handed over. The default is 100 ms; a negative value means no wait.
	// Wait adds to the latency of a quiet topic.
	Wait time.Duration
	// Concurrency is how many batches, of different keys, are out at once; 1 by
	// default.
	Concurrency int
	// Window is how many messages are held unacknowledged. The default is 1024, or twice the
	// capacity of the concurrent batches if that is more.
	Window int
	// Timeout ends the context of a handler that takes longer; see [Consumer].
	Timeout time.Duration
	// Retry is [DefaultRetry] when zero.
	Retry RetryPolicy
	// DeadLetter is the topic of dead letters; Topic with ".DLT" when empty.
	DeadLetter string
	// Classifiers judge errors that carry no class, usually a database driver's.
	Classifiers []fault.Classifier
	// Current makes the consumer skip events that are out of date; see [Consumer]. It is called
	// once per key and batch.
	Current func(ctx context.Context, key string) (uint64, error)
	Hooks   Hooks
}

func (c BatchConsumer) plan() (plan, error) {
	c.Size, c.Concurrency = cmp.Or(c.Size, 100), cmp.Or(c.Concurrency, 1)
	switch {
	case c.Wait == 0:
		c.Wait = 100 * time.Millisecond
	case c.Wait < 0:
		c.Wait = 0
	}
	if c.Window == 0 && c.Size > 0 && c.Concurrency > 0 {
		c.Window = max(1024, 2*c.Size*c.Concurrency)
	}
	base := Consumer{
		Topic: c.Topic, Group: c.Group, Concurrency: c.Concurrency, Window: c.Window, Timeout: c.Timeout, Retry: c.Retry,
		DeadLetter: c.DeadLetter, Classifiers: c.Classifiers, Current: c.Current, Hooks: c.Hooks,
	}
	if err := base.validate(); err != nil {
		return plan{}, err
	}
	problem := ""
	switch {
	case c.Handler == nil && c.Guarded == nil:
		problem = "Handler is nil; use bus.HandleBatch, or Guarded with the batch handler of a guard"
	case c.Handler != nil && c.Guarded != nil:
		problem = "Handler and Guarded are both set; give one of them"
	case c.Size < 0:
		problem = fmt.Sprintf("Size is %d; give at least 1, or 0 for the default 100", c.Size)
	case c.Window < c.Size:
		problem = fmt.Sprintf("Window is %d, below Size %d; a batch could never be full", c.Window, c.Size)
	}
	if problem != "" {
		return plan{}, fmt.Errorf("bus: batch consumer %s of %s: %s", c.Group, c.Topic, problem)
	}
	if c.Guarded != nil {
		if err := sameGroup(c.Topic, c.Group, c.Guarded); err != nil {
			return plan{}, err
		}
		c.Handler = onlyTypesOf(c.Guarded.Handles, together(c.Guarded.HandleEvents))
	}
	made := newConsumer(base)
	made.handleBatch, made.batch = c.Handler, batching{size: c.Size, wait: c.Wait}
	return plan{consumers: []*consumer{made}}, nil
}

// HandleBatch makes the handler of a [BatchConsumer] that decodes the events, in either encoding, and calls fn
// with those of the given types, or with all when no type is given. Other types are
// acknowledged, counted and logged as by [ByType]. A message that is not an event fails
// permanently, alone. The indexes of a [BatchError] from fn refer to the events that fn
// received.
func HandleBatch(fn func(ctx context.Context, events []event.Event) error, types ...string) func(ctx context.Context, messages []*message.Message) error {
	types = slices.Clone(types)
	return onlyTypesOf(func(t string) bool { return len(types) == 0 || slices.Contains(types, t) }, fn)
}

func onlyTypesOf(handles func(eventType string) bool, fn func(context.Context, []event.Event) error) func(context.Context, []*message.Message) error {
	return func(ctx context.Context, messages []*message.Message) error {
		failed := BatchError{}
		events := make([]event.Event, 0, len(messages))
		indexes := make([]int, 0, len(messages))
		for i, m := range messages {
			e, err := event.Decode(m)
			if err != nil {
				failed[i] = fault.MarkPermanent(err)
				continue
			}
			if !handles(e.Type) {
				ignore(m.Context(), e)
				continue
			}
			events, indexes = append(events, e), append(indexes, i)
		}
		if len(events) == 0 {
			return failed.OrNil()
		}
		return translated(fn(ctx, events), indexes, failed)
	}
}

// translated maps the result of a handler that received only the messages at indexes to the
// whole batch. failed holds the failures of the others.
func translated(err error, indexes []int, failed BatchError) error {
	if err == nil {
		return failed.OrNil()
	}
	some, err := split(err, len(indexes))
	if some == nil {
		if len(failed) == 0 {
			return err
		}
		// The others failed on their own; this error applies to all that the handler received.
		for _, i := range indexes {
			failed[i] = wholeError{err, len(indexes)}
		}
		return failed
	}
	for i, e := range some {
		failed[indexes[i]] = e
	}
	return failed.OrNil()
}

// wholeError is the error of a whole batch: inside a BatchError that holds others too, or around
// one that counts for all.
type wholeError struct {
	error
	of int // how many messages share it
}

func (w wholeError) Unwrap() error { return w.error }
