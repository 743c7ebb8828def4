package redrive

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
)

// Metadata that this package writes into letters beside those of package bus.
// All of it begins with the same prefix and goes when a letter is redriven.
const (
	prefix  = "dlq_"
	movedBy = "dlq_moved" // the pass that put the letter at the end of its topic
)

// Letter is a dead letter.
type Letter struct {
	ID            string
	OriginalTopic string // where it goes back to; "" when it does not say
	Group         string // the group that gave up on it
	Reason        string
	Class         string
	Error         string
	Stack         string
	Worker        string
	Attempts      int
	FirstFailure  time.Time
	LastFailure   time.Time
	Redrives      int // how often it was redriven before
	Edits         int // how often its payload was replaced

	// Event is the decoded event, nil with EventError set when it is none.
	Event      *event.Event
	EventError error

	Metadata map[string]string // all of it, as it lies in the topic
	Payload  []byte
}

// Type is the event's type, or "" when it is no event.
func (l Letter) Type() string {
	if l.Event == nil {
		return ""
	}
	return l.Event.Type
}

// read makes a Letter of a message. What is missing or malformed stays zero: a
// dead letter topic may hold what others put there.
func read(m *message.Message) Letter {
	l := Letter{
		ID:            m.UUID,
		OriginalTopic: m.Metadata[bus.DLQOriginalTopic],
		Group:         m.Metadata[bus.DLQGroup],
		Reason:        m.Metadata[bus.DLQReason],
		Class:         m.Metadata[bus.DLQClass],
		Error:         m.Metadata[bus.DLQError],
		Stack:         m.Metadata[bus.DLQStack],
		Worker:        m.Metadata[bus.DLQWorker],
		Attempts:      number(m, bus.DLQAttempts),
		FirstFailure:  moment(m, bus.DLQFirstFailure),
		LastFailure:   moment(m, bus.DLQLastFailure),
		Redrives:      number(m, bus.DLQRedrive),
		Edits:         number(m, bus.DLQEdits),
		Metadata:      maps.Clone(m.Metadata),
		Payload:       m.Payload,
	}
	if e, err := event.Decode(m); err != nil {
		l.EventError = err
	} else {
		l.Event = &e
	}
	return l
}

// maxCount is as far as letters are counted: anybody can write a number into one.
const maxCount = 1_000_000_000

func number(m *message.Message, name string) int {
	n, err := strconv.Atoi(m.Metadata[name])
	if err != nil || n < 0 {
		return 0
	}
	return min(n, maxCount)
}

// oneMore is a letter's number and one.
func oneMore(m *message.Message, name string) string {
	return strconv.Itoa(min(number(m, name)+1, maxCount))
}

func moment(m *message.Message, name string) time.Time {
	t, err := time.Parse(time.RFC3339, m.Metadata[name])
	if err != nil {
		return time.Time{}
	}
	return t
}

// redriven makes the message that goes back to the original topic: the same id
// and bytes, and the metadata it had before it failed.
func redriven(m *message.Message) *message.Message {
	out := message.NewMessage(m.UUID, m.Payload)
	for k, v := range m.Metadata {
		if !strings.HasPrefix(k, prefix) {
			out.Metadata[k] = v
		}
	}
	out.Metadata[bus.DLQRedrive] = oneMore(m, bus.DLQRedrive)
	return out
}

// moved makes the copy of a letter that goes to the end of its topic.
func moved(m *message.Message, pass string) *message.Message {
	out := message.NewMessage(m.UUID, m.Payload)
	maps.Copy(out.Metadata, m.Metadata)
	out.Metadata[movedBy] = pass
	return out
}

// replaced makes the copy of a letter with another payload.
func replaced(m *message.Message, payload []byte) (*message.Message, error) {
	out := message.NewMessage(m.UUID, payload)
	maps.Copy(out.Metadata, m.Metadata)
	out.Metadata[bus.DLQEdits] = oneMore(m, bus.DLQEdits)
	id, key := m.UUID, event.Key(m)
	before, err := event.Decode(m)
	switch {
	case errors.Is(err, event.ErrNotEvent):
		return out, nil
	case err == nil:
		id, key = before.ID, before.Key()
	}
	// One that does not decode may be what is to be repaired.
	after, err := event.Decode(out)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: it is no event: %w", ErrPayload, err)
	case after.ID != id:
		return nil, fmt.Errorf("%w: it has the id %q; keep %q, consumers know the event by it", ErrPayload, after.ID, id)
	case after.Key() != key:
		return nil, fmt.Errorf("%w: it has the key %q; keep %q, the event is ordered by it", ErrPayload, after.Key(), key)
	}
	return out, nil
}

// version says which of several letters of one event is the latest.
type version struct{ redrives, edits int }

// newer reports whether the letter is of a later version.
func newer(than version, l Letter) bool {
	return l.Redrives > than.redrives || l.Redrives == than.redrives && l.Edits > than.edits
}

// key is the same for letters that redriving one of settles.
func (l Letter) key() string { return l.ID + "\x00" + l.OriginalTopic }
