package redrive

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
)

// Metadata that this package adds to letters, beside that of package bus. Its names begin with
// the same prefix, and it is removed when a letter is redriven.
const (
	prefix  = "dlq_"
	movedBy = "dlq_moved" // the pass that moved the letter to the end of its topic
)

// Letter is a dead letter.
type Letter struct {
	ID            string
	OriginalTopic string // where it is redriven to; "" when the letter has none
	Group         string // the group in which the message failed
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

	// Event is the decoded event, and Type its type. If the payload is not an event, Event is nil,
	// Type is empty, and EventError is set.
	Event      *event.Event
	Type       string
	EventError error

	Metadata map[string]string // complete, as in the topic
	Payload  []byte
}

// read makes a Letter of a message. Missing or malformed fields stay zero: a dead letter topic
// may hold messages of other programs.
func read(m *message.Message) Letter {
	l := Letter{
		ID:            m.UUID,
		OriginalTopic: m.Metadata[driver.DLQOriginalTopic],
		Group:         m.Metadata[driver.DLQGroup],
		Reason:        m.Metadata[driver.DLQReason],
		Class:         m.Metadata[driver.DLQClass],
		Error:         m.Metadata[driver.DLQError],
		Stack:         m.Metadata[driver.DLQStack],
		Worker:        m.Metadata[driver.DLQWorker],
		Attempts:      number(m, driver.DLQAttempts),
		FirstFailure:  moment(m, driver.DLQFirstFailure),
		LastFailure:   moment(m, driver.DLQLastFailure),
		Redrives:      number(m, driver.DLQRedrive),
		Edits:         number(m, driver.DLQEdits),
		Metadata:      maps.Clone(m.Metadata),
		Payload:       m.Payload,
	}
	if e, err := event.Decode(m); err != nil {
		l.EventError = err
	} else {
		l.Event, l.Type = &e, e.Type
	}
	return l
}

// maxCount bounds the counts of a letter, since other programs can write any number into one.
const maxCount = 1_000_000_000

func number(m *message.Message, name string) int {
	n, err := strconv.Atoi(m.Metadata[name])
	if err != nil || n < 0 {
		return 0
	}
	return min(n, maxCount)
}

// oneMore returns a number of a letter plus one.
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

// redriven makes the message for the original topic: the same id and bytes, and the metadata it
// had before it failed.
func redriven(m *message.Message) *message.Message {
	out := message.NewMessage(m.UUID, m.Payload)
	for k, v := range m.Metadata {
		if !strings.HasPrefix(k, prefix) {
			out.Metadata[k] = v
		}
	}
	out.Metadata[driver.DLQRedrive] = oneMore(m, driver.DLQRedrive)
	return out
}

// moved makes the copy of a letter for the end of its topic.
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
	out.Metadata[driver.DLQEdits] = oneMore(m, driver.DLQEdits)
	id, key := m.UUID, event.Key(m)
	before, err := event.Decode(m)
	switch {
	case errors.Is(err, event.ErrNotEvent):
		return out, nil
	case err == nil:
		id, key = before.ID, before.Key()
	}
	// A payload that does not decode may be the one to be repaired.
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

// version orders several letters of one event.
type version struct{ redrives, edits int }

// newer reports whether the letter is of a later version.
func newer(than version, l Letter) bool {
	return l.Redrives > than.redrives || l.Redrives == than.redrives && l.Edits > than.edits
}

// key is equal for letters that are settled together when one is redriven or dropped.
func (l Letter) key() string { return l.ID + "\x00" + l.OriginalTopic }

// own is equal for letters of one group only: these are listed and edited once.
func (l Letter) own() string { return l.key() + "\x00" + l.Group }
