package bus

import (
	"bytes"
	"context"
	"maps"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/internal/consuming"
)

// verdict is what is to become of a message after an attempt.
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
	// done is an acknowledgement.
	done
	// stillOut is the verdict about a message that is out when its subscription ends.
	stillOut
)

// delivery is one message of the source on its way through a consumer, with
// everything that outlives a single attempt. It is guarded by the subscription's mu,
// except between run and settle: then it belongs to the goroutine that runs it.
type delivery struct {
	from   driver.Delivery
	source *message.Message // as it was published; cannot be acknowledged
	lane   *lane
	tried  bool
	before int64 // how many messages had been finished when it was first tried

	ctx    context.Context // of the attempt under way
	cancel context.CancelCauseFunc
	nacks  int  // bare nacks so far
	alone  bool // no batch but its own may have it

	sub      *subscription
	secluded bool // handed out with nothing else
	probe    bool // handed out while paused, to find out whether the pause is over
	epoch    int  // how many pauses had ended when it was handed out
	// condemned: a failure for a dependency counts as its own.
	condemned bool
	blamed    bool      // its last attempt failed for a dependency
	suspect   time.Time // since when it is one; zero when it is none

	// Written by the consumer before it nacks.
	verdict verdict
	delay   time.Duration
	err     error

	// The consumer's notes, kept across attempts.
	attempts     int // handler runs that failed and counted
	pauses       int // handler runs that ended in a pause, or in a wait for another worker
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

// begin begins an attempt, whose context ends with it, or when the transport takes the
// message back: ending a subscription must not cut a handler short. The caller holds the
// subscription's mu.
func (d *delivery) begin(finished int64) {
	d.note(finished)
	d.ctx, d.cancel = context.WithCancelCause(consuming.With(d.from.Context(), d))
	d.verdict, d.err, d.delay, d.ignored = redeliver, nil, 0, ""
}

// note notes the first attempt.
func (d *delivery) note(finished int64) {
	if !d.tried {
		d.tried, d.before = true, finished
	}
}

// offer returns the attempt's copy of the message.
func (d *delivery) offer() *message.Message { return d.shown(d.ctx) }

// copied is a copy of the message with bytes of its own, because a handler may scribble
// on them, and a retry or a dead letter must show the original ones.
func (d *delivery) copied() *message.Message {
	m := message.NewMessage(d.source.UUID, bytes.Clone(d.source.Payload))
	if len(d.source.Metadata) > 0 {
		m.Metadata = maps.Clone(d.source.Metadata)
	}
	return m
}

// shown is the message as hooks see it, with the context of its attempt.
func (d *delivery) shown(ctx context.Context) *message.Message {
	m := d.copied()
	m.SetContext(ctx)
	return m
}

// attrs name the message in a log line.
func (d *delivery) attrs() []any { return []any{eventlog.Message(d.source)} }

// revoked reports whether the transport took the source message back.
func (d *delivery) revoked() bool { return d.from.Context().Err() != nil }

// stopping reports whether the subscription hands out no more.
func (d *delivery) stopping() bool { return d.sub.stopping.Load() }

// solo reports whether it has to be handed out without others.
func (d *delivery) solo() bool { return d.alone || d.letter != nil || d.suspected() }

// held reports whether the consumer is paused and d is not its probe.
func (d *delivery) held() bool { return d.sub.pausedFlag.Load() && !d.probe }

// observer is told what happens to a subscription. Its functions are called one at a
// time, with the subscription's mu held but for lost, and may be nil.
type observer struct {
	probe   Backoff
	paused  func(err error, delay time.Duration)
	again   func(d *delivery, delay time.Duration) // a probe, or a suspect, failed for a dependency
	resumed func(after time.Duration)
	lost    func(error)

	isPaused *atomic.Bool
	inFlight *atomic.Int64
}
