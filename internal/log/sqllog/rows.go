package sqllog

import (
	"strings"

	"github.com/millrace-go/millrace/internal/log"
)

// Columns is the number of values of one appended row.
func (t Tables) Columns() int { return 6 + len(t.Labels) }

// Row is a row of placeholders that follows another one.
func (t Tables) Row() string { return ",(" + strings.Repeat("?,", t.Columns()-1) + "?)" }

// Values returns the values of the entries' rows: lane, topic, message id, key, headers, payload
// and labels.
func (t Tables) Values(entries ...log.Entry) []any {
	args := make([]any, 0, len(entries)*t.Columns())
	for i := range entries {
		e := &entries[i]
		args = append(args, e.Lane, e.Topic, e.MessageID, e.Key, e.Headers, Payload(e))
		for _, label := range e.Labels {
			args = append(args, label)
		}
	}
	return args
}

// Payload is never nil: an empty payload is not NULL.
func Payload(e *log.Entry) []byte {
	if e.Payload == nil {
		return []byte{}
	}
	return e.Payload
}
