package bus

import (
	"bytes"
	"context"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/internal/consuming"
)

// verdict is what a consumer asks of the dispatcher along with a nack.
type verdict uint8

const (
	// redeliver is the verdict of a bare nack: again, after the dispatcher's own backoff.
	redeliver verdict = iota
	// retryLater asks for the message again after delivery.delay.
	retryLater
	// pauseAll says that a dependency is down: nothing is handed out until a probe gets through.
	pauseAll
	// afterPause asks for the message again once the consumer is not paused.
	afterPause
	// handBack gives the message up without a word about it.
	handBack
	// done is an acknowledgement. Only batches have it: a single message is
	// acknowledged itself.
	done
)

// delivery is one message of the source on its way through a consumer, with
// everything that outlives a single attempt. It belongs to the subscription's
// loop, except while a copy is out: then it belongs to whoever handles the copy,
// and the acknowledgement gives it back.
type delivery struct {
	source *message.Message
	lane   *lane

	copy   *message.Message // the copy that is offered or out
	cancel context.CancelCauseFunc
	nacks  int  // bare nacks so far
	alone  bool // no batch but its own may have it

	sub   *subscription
	probe bool // handed out while paused, to find out whether the pause is over
	epoch int  // how many pauses had ended when it was handed out
	// condemned: a failure for a dependency counts as its own.
	condemned bool
	blamed    bool // its last attempt failed for a dependency
	suspected suspicion

	// Written by the consumer before it nacks.
	verdict verdict
	delay   time.Duration
	err     error

	// The consumer's notes, kept across attempts.
	attempts     int // handler runs that failed and counted
	pauses       int // handler runs that ended in a pause
	firstFailure time.Time
	lastFailure  time.Time
	letter       *message.Message // the dead letter that is still to be published
	letterInfo   DeadLetter
	obsolete     bool       // in a batch: it was skipped
	ignored      string     // the type of an event that has no handler
	span         trace.Span // of the attempt under way; nil when none is made
}

// Group is the group that it was delivered to, "" where that is not known.
func (d *delivery) Group() string { return d.sub.dispatcher.group }

func deliveryOf(ctx context.Context) *delivery {
	d, _ := consuming.From(ctx).(*delivery)
	return d
}

// offer returns the copy to hand out. Its context carries the values of the
// source's context but not its cancellation: closing a Router or ending a
// subscription must not cut a handler short.
func (d *delivery) offer() *message.Message {
	if d.copy != nil {
		return d.copy
	}
	ctx := consuming.With(context.WithoutCancel(d.source.Context()), d)
	ctx, d.cancel = context.WithCancelCause(ctx)
	// The payload is cloned because a handler may scribble on it, and a retry
	// or a dead letter must show the original bytes.
	m := message.NewMessage(d.source.UUID, bytes.Clone(d.source.Payload))
	for k, v := range d.source.Metadata {
		m.Metadata[k] = v
	}
	m.SetContext(ctx)
	d.copy, d.verdict, d.err, d.ignored = m, redeliver, nil, ""
	return m
}

// revoked reports whether the transport took the source message back.
func (d *delivery) revoked() bool { return d.source.Context().Err() != nil }

// stopping reports whether the subscription hands out no more.
func (d *delivery) stopping() bool { return d.sub.stopping.Load() }

// solo reports whether it has to be handed out without others.
func (d *delivery) solo() bool { return d.alone || d.letter != nil }

// held reports whether the consumer is paused and d is not its probe.
func (d *delivery) held() bool { return d.sub.pausedFlag.Load() && !d.probe }

// outcome is a delivery that came back.
type outcome struct {
	delivery *delivery
	acked    bool
}

// watch waits for the answer to a copy that is out and sends it to the loop.
func (d *delivery) watch(outcomes chan<- outcome, gone <-chan struct{}) {
	revoked := d.source.Context().Done()
	var o outcome
	for {
		select {
		case <-d.copy.Acked():
			o = outcome{d, true}
		case <-d.copy.Nacked():
			o = outcome{d, false}
		case <-revoked:
			revoked = nil
			// Closing the source ends its contexts too; that is no revocation,
			// and the handler may go on until the source has committed.
			if !d.sub.ending.Load() {
				d.cancel(ErrRevoked)
			}
			continue
		case <-gone:
			return
		}
		break
	}
	d.cancel(nil)
	select {
	case outcomes <- o:
	case <-gone:
	}
}

// answered reports whether the copy was acknowledged.
func (d *delivery) answered() bool {
	select {
	case <-d.copy.Acked():
		return true
	default:
		return false
	}
}

// observer is told what happens to a subscription. Its functions are called
// from the subscription's loop, one at a time, and may be nil.
type observer struct {
	probe   Backoff
	paused  func(err error, delay time.Duration)
	again   func(d *delivery, delay time.Duration) // a probe, or a suspect, failed for a dependency
	resumed func(after time.Duration)
	lost    func()
	// closeLast keeps the channel open until everything else has ended, so that
	// a Router, which stops with its channels, stops last.
	closeLast bool
	isPaused  *atomic.Bool
	inFlight  *atomic.Int64
}
