package redrive

import (
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
)

// Any message can be shown as a dead letter. Redriven it is the message that failed, without the
// metadata added since, and counted once more.
func FuzzLetter(f *testing.F) {
	f.Add("id", driver.DLQOriginalTopic+"\torders\n"+driver.DLQAttempts+"\t4\n"+driver.DLQFirstFailure+"\t2026-03-01T09:00:00Z\nce_type\tPaid", []byte("{}"))
	f.Add("", driver.DLQAttempts+"\t-1\n"+driver.DLQRedrive+"\t99999999999999999999\n"+driver.DLQLastFailure+"\tyesterday", []byte(nil))
	f.Add("id", "\t\n"+driver.DLQRedrive+"\t9223372036854775807", []byte{0xff})
	f.Fuzz(func(t *testing.T, id, headers string, payload []byte) {
		m := message.NewMessage(id, payload)
		for line := range strings.SplitSeq(headers, "\n") {
			name, text, _ := strings.Cut(line, "\t")
			m.Metadata[name] = text
		}
		l := read(m)
		if l.ID != id || string(l.Payload) != string(payload) || (l.Event == nil) != (l.EventError != nil) || l.Attempts < 0 || l.Redrives < 0 || l.Edits < 0 {
			t.Fatalf("%q is read as %+v", headers, l)
		}
		out := redriven(m)
		if out.UUID != id || string(out.Payload) != string(payload) {
			t.Fatalf("%q is redriven as %+v", headers, out)
		}
		for k, v := range out.Metadata {
			if strings.HasPrefix(k, prefix) != (k == driver.DLQRedrive) || k != driver.DLQRedrive && v != m.Metadata[k] {
				t.Fatalf("%q is redriven with %q: %q", headers, k, v)
			}
		}
		if again := read(out); again.Redrives != min(l.Redrives+1, maxCount) {
			t.Fatalf("redriven after %d times it says %d", l.Redrives, again.Redrives)
		}
	})
}

// A payload that replaces another keeps the event's id and key.
func FuzzReplaced(f *testing.F) {
	const structured = `{"specversion":"1.0","id":"1","source":"s","type":"T","subject":"k"}`
	f.Add([]byte(structured), []byte(structured))
	f.Add([]byte(structured), []byte(strings.Replace(structured, `"1"`, `"2"`, 1)))
	f.Add([]byte("x"), []byte(structured))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		m := message.NewMessage("1", before)
		m.Metadata.Set(event.ContentTypeHeader, "application/cloudevents+json")
		out, err := replaced(m, after)
		if err != nil {
			return
		}
		was, err := event.Decode(m)
		if err != nil {
			return // the payload that did not decode may be the one to be repaired
		}
		is, err := event.Decode(out)
		if err != nil || is.ID != was.ID || is.Key() != was.Key() {
			t.Fatalf("%q took the place of %q: %v", after, before, err)
		}
	})
}
