package driver

import (
	"fmt"
	"slices"
	"strings"
)

// Outcome is the known state of a message after Publish.
type Outcome uint8

const (
	// Published: the message is in the topic.
	Published Outcome = iota + 1
	// Refused: the transport refused the message. It is not in the topic.
	Refused
	// NotSent: the message did not leave this process, because an earlier message of the call
	// failed, or the time was over. It is not in the topic.
	NotSent
	// Unknown: the message was sent without an answer. It may be in the topic.
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

// PublishError gives the outcome of each message of a Publish call that failed. Of each key, the
// messages before the first that is not Published are Published, and those after it are NotSent,
// Unknown or Refused: a caller that publishes the unpublished ones again, in their order, keeps
// the order of keys.
type PublishError struct {
	Topic string
	// Outcomes has one entry for each message of the call.
	Outcomes []Outcome
	// First is the index of the first message that failed by itself, ID its UUID.
	First int
	ID    string
	// Err is its error.
	Err error
}

// Failed returns the error of a call of n messages with the same outcome; id is the id of the
// first.
func Failed(topic string, n int, id string, o Outcome, err error) *PublishError {
	return &PublishError{Topic: topic, Outcomes: slices.Repeat([]Outcome{o}, n), ID: id, Err: err}
}

// Culprit returns the index of the message to name in a [PublishError]: the first that is
// Refused or Unknown, or else the first that is not Published.
func Culprit(outcomes []Outcome) int {
	if i := slices.IndexFunc(outcomes, func(o Outcome) bool { return o == Refused || o == Unknown }); i >= 0 {
		return i
	}
	return max(0, slices.IndexFunc(outcomes, func(o Outcome) bool { return o != Published }))
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
	if len(e.Outcomes) == 1 {
		what := map[Outcome]string{Refused: "was refused", NotSent: "was not sent", Unknown: "may be published"}[e.Outcomes[0]]
		return fmt.Sprintf("publish to %s: message %s %s: %v", e.Topic, e.ID, what, e.Err)
	}
	return fmt.Sprintf("publish to %s: %d of %d messages failed (%s), the first is %s: %v",
		e.Topic, failed, len(e.Outcomes), strings.Join(counts, ", "), e.ID, e.Err)
}

// Unwrap returns the error of the first message that failed.
func (e *PublishError) Unwrap() error { return e.Err }

// Published reports whether the i-th message of the call is certainly in the topic.
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
