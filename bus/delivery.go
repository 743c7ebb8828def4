package bus

import (
	"bytes"
	"context"
	"maps"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/internal/consuming"
)

// verdict is the decision about a message after an attempt.
type verdict uint8

const (
	// redeliver is the verdict of a bare nack: redelivery after the dispatcher's own backoff.
	redeliver verdict = iota
	// retryLater asks for redelivery after delivery.delay.
	retryLater
	// pauseAll means that a dependency is down: nothing is handed out until a probe succeeds.
	pauseAll
	// afterPause asks for redelivery once the consumer is not paused.
	afterPause
	// handBack returns the message to the transport without a result.
	handBack
	// done is an acknowledgement.
	done
	// stillOut is the verdict for a message that is out when its subscription ends.
	stillOut
)

// delivery is one message of the source on its way through a consumer, with the state that
// outlives an attempt. It is guarded by the subscription's mu, except between run and settle,
// when it belongs to the goroutine that runs it.
type delivery struct {
	from   driver.Delivery
	source *message.Message // as it was published; cannot be acknowledged
	lane   *lane
	tried  bool
	before int64 // how many messages had been finished when it was first tried

	ctx    context.Context // of the attempt under way
	cancel context.CancelCauseFunc
	nacks  int  // bare nacks so far
	alone  bool // only a batch of its own may hold it

	sub      *subscription
	secluded bool // handed out with nothing else
	probe    bool // handed out while paused, to test whether the pause can end
	epoch    int  // how many pauses had ended when it was handed out
	// condemned: an infrastructure failure counts as the message's own.
	condemned bool
	blamed    bool      // its last attempt failed for a dependency
	suspect   time.Time // since when it is suspect; zero when it is not

	// Written by the consumer before it nacks.
	verdict verdict
	delay   time.Duration
	err     error

	// Records of the consumer, kept across attempts.
	attempts     int // handler runs that failed and counted
	pauses       int // handler runs that ended in a pause, or in a wait for another worker
	firstFailure time.Time
	lastFailure  time.Time
	letter       *message.Message // the dead letter that is still to be published
	letterInfo   Report
	obsolete     bool       // it was skipped, as out of date
	ignored      string     // the type of an event that has no handler
	span         trace.Span // of the attempt under way; nil when no span is made
}

// Group returns the consumer group of the delivery.
func (d *delivery) Group() string { return d.sub.dispatcher.consumer.Group }

func deliveryOf(ctx context.Context) *delivery {
	d, _ := consuming.From(ctx).(*delivery)
	return d
}

// begin begins an attempt. Its context ends with the attempt, or when the transport takes the
// message back; the end of a subscription does not end it. The caller holds the subscription's
// mu.
func (d *delivery) begin(finished int64) {
	d.note(finished)
	d.ctx, d.cancel = context.WithCancelCause(consuming.With(d.from.Context(), d))
	d.verdict, d.err, d.delay, d.ignored = redeliver, nil, 0, ""
}

// note records the first attempt.
func (d *delivery) note(finished int64) {
	if !d.tried {
		d.tried, d.before = true, finished
	}
}

// offer returns the attempt's copy of the message.
func (d *delivery) offer() *message.Message { return d.shown(d.ctx) }

// copied returns a copy of the message with bytes of its own: a handler may overwrite the bytes,
// and a retry or a dead letter must show the original ones.
func (d *delivery) copied() *message.Message {
	m := message.NewMessage(d.source.UUID, bytes.Clone(d.source.Payload))
	if len(d.source.Metadata) > 0 {
		m.Metadata = maps.Clone(d.source.Metadata)
	}
	return m
}

// shown returns the message for hooks, with the context of its attempt.
func (d *delivery) shown(ctx context.Context) *message.Message {
	m := d.copied()
	m.SetContext(ctx)
	return m
}

// attrs returns attributes that identify the message in a log line.
func (d *delivery) attrs() []any { return []any{eventlog.Message(d.source)} }

// revoked reports whether the transport took the source message back.
func (d *delivery) revoked() bool { return d.from.Context().Err() != nil }

// skipped reports whether the message was acknowledged without its handler.
func (d *delivery) skipped() bool { return d.verdict == done && (d.obsolete || d.ignored != "") }

// stopping reports whether the subscription has stopped handing out messages.
func (d *delivery) stopping() bool { return d.sub.stopping.Load() }

// solo reports whether d has to be handed out alone.
func (d *delivery) solo() bool { return d.alone || d.letter != nil || d.suspected() }
