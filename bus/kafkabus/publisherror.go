package kafkabus

import (
	"fmt"
	"slices"
	"strings"
)

// Outcome is what is known of a message after Publish.
type Outcome uint8

const (
	// Published: every in-sync replica has it.
	Published Outcome = iota + 1
	// Refused: the brokers would not take it. It is not in the topic.
	Refused
	// NotSent: it never left this process, because an earlier message of its
	// key in the same call failed, or time was up. It is not in the topic.
	NotSent
	// Unknown: it was sent and no answer came. It may be in the topic.
	Unknown
)

// String returns the outcome in words: "published", "refused", "not sent" or
// "unknown".
func (o Outcome) String() string {
	switch o {
	case Published:
		return "published"
	case Refused:
		return "refused"
	case NotSent:
		return "not sent"
	case Unknown:
		return "unknown"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// PublishError says what became of each message of a Publish call that failed.
// Of each key, the messages before the first that is not Published are
// Published, and those after it are NotSent, Unknown or Refused: a caller that
// publishes the unpublished ones again, in their order, keeps the order of keys.
type PublishError struct {
	Topic string
	// Outcomes has one entry for each message of the call.
	Outcomes []Outcome
	// First is the index of the first message that failed, ID its UUID.
	First int
	ID    string
	// Err is why it failed.
	Err error
}

func (e *PublishError) Error() string {
	var counts []string
	failed := 0
	for _, o := range []Outcome{Refused, NotSent, Unknown} {
		n := 0
		for _, have := range e.Outcomes {
			if have == o {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, o))
			failed += n
		}
	}
	return fmt.Sprintf("kafkabus: publish to %s: %d of %d messages were not acknowledged (%s), the first is %s: %v",
		e.Topic, failed, len(e.Outcomes), strings.Join(counts, ", "), e.ID, e.Err)
}

// Unwrap returns why the first message failed.
func (e *PublishError) Unwrap() error { return e.Err }

// Published reports whether the i-th message of the call is in the topic for
// certain.
func (e *PublishError) Published(i int) bool {
	return i >= 0 && i < len(e.Outcomes) && e.Outcomes[i] == Published
}

// Unpublished returns the indexes of the other messages, in order.
func (e *PublishError) Unpublished() []int {
	var all []int
	for i := range e.Outcomes {
		if !e.Published(i) {
			all = append(all, i)
		}
	}
	return slices.Clip(all)
}
