package bus

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

// Values of dlq_reason, unless the error has its own: a method FailureReason() string.
const (
	ReasonPermanent = "PERMANENT"         // the error is of class permanent
	ReasonExhausted = "RETRIES_EXHAUSTED" // the last retry failed too
	ReasonPanic     = "PANIC"             // as RETRIES_EXHAUSTED, and the last attempt panicked
	ReasonCrashed   = "CRASHED"           // its process died twice while it was handled alone
)

// reasoner is implemented by errors that give the reason of a failure in one stable word. The
// word becomes the dead letter's dlq_reason.
type reasoner interface {
	error
	FailureReason() string
}

const (
	maxErrorText = 4 << 10
	maxStackText = 16 << 10
	shortText    = 256
)

// shrink removes from a refused dead letter the parts that are not essential: the stack, then
// all but the beginning of the error. It returns false when nothing is left to remove.
func shrink(letter *message.Message) bool {
	text := letter.Metadata[driver.DLQError]
	switch {
	case letter.Metadata[driver.DLQStack] != "":
		letter.Metadata[driver.DLQStack] = ""
	case len(text) > shortText:
		letter.Metadata[driver.DLQError] = bounded(text, shortText)
	default:
		return false
	}
	return true
}

// publishLetter publishes a dead letter, and a smaller one if the transport refuses the first.
func (c *consumer) publishLetter(letter *message.Message) error {
	for {
		// A publisher may change the messages, and this letter may be published again.
		err := c.publisher.Publish(c.deadLetterTopic, letter.CopyWithContext())
		if err == nil || fault.Of(err) != fault.Permanent || !shrink(letter) {
			return err
		}
	}
}

// deadLetter makes the dead letter of d. It has the source's payload, metadata and UUID, so that
// an idempotent consumer recognizes the message.
func (c *consumer) deadLetter(d *delivery, err error, class fault.Class) (*message.Message, Report) {
	info := Report{
		Topic: c.Topic, Group: c.Group, DeadLetterTopic: c.deadLetterTopic,
		Err: err, Class: class, Reason: reasonOf(err, class), Attempts: d.attempts,
	}
	m := d.copied()
	for k, v := range map[string]string{
		driver.DLQOriginalTopic: c.Topic,
		driver.DLQGroup:         c.Group,
		driver.DLQReason:        info.Reason,
		driver.DLQClass:         class.String(),
		driver.DLQError:         bounded(err.Error(), maxErrorText),
		driver.DLQStack:         bounded(stackOf(err), maxStackText),
		driver.DLQAttempts:      strconv.Itoa(d.attempts),
		driver.DLQFirstFailure:  d.firstFailure.UTC().Format(time.RFC3339Nano),
		driver.DLQLastFailure:   d.lastFailure.UTC().Format(time.RFC3339Nano),
		driver.DLQWorker:        c.workerID,
	} {
		m.Metadata[k] = v
	}
	return m, info
}

func reasonOf(err error, class fault.Class) string {
	var r reasoner
	if errors.As(err, &r) && r.FailureReason() != "" {
		return bounded(r.FailureReason(), shortText)
	}
	var p *panicError
	switch {
	case class == fault.Permanent:
		return ReasonPermanent
	case errors.As(err, &p):
		return ReasonPanic
	default:
		return ReasonExhausted
	}
}

// stackOf returns the stack of a panic, or the verbose form of an error that has one, as those
// of pkg/errors do; "" when the error has no stack.
func stackOf(err error) string {
	var p *panicError
	if errors.As(err, &p) {
		return string(p.Stack)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if _, ok := e.(fmt.Formatter); !ok {
			continue
		}
		if verbose := fmt.Sprintf("%+v", e); verbose != e.Error() {
			return verbose
		}
	}
	return ""
}

// bounded cuts s to at most n bytes of valid UTF-8: brokers refuse oversized
// headers, and a dead letter that cannot be published would pause the consumer.
func bounded(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	const mark = " … (cut)"
	s = s[:n-len(mark)]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + mark
}
