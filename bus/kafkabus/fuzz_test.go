package kafkabus

import (
	"maps"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/event"
)

// A record of anybody's becomes a message, and that message comes back whole.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("user-1"), idHeader+"\tid\nce_type\tPaid", []byte("{}"))
	f.Add([]byte(nil), "", []byte(nil))
	f.Add([]byte("k"), event.KeyHeader+"\tother", []byte{0xff})
	f.Add([]byte{0}, "\t\n\t\n"+idHeader+"\n"+idHeader, []byte("x"))
	f.Fuzz(func(t *testing.T, key []byte, headers string, value []byte) {
		theirs := kgo.Record{Key: key, Value: value}
		for line := range strings.SplitSeq(headers, "\n") {
			name, text, _ := strings.Cut(line, "\t")
			theirs.Headers = append(theirs.Headers, kgo.RecordHeader{Key: name, Value: []byte(text)})
		}
		m := messages([]*kgo.Record{&theirs})[0]
		if string(m.Payload) != string(value) || m.Metadata[idHeader] != "" || len(key) > 0 && event.Key(m) == "" {
			t.Fatalf("%q %q is read as %+v", key, headers, m)
		}
		var r kgo.Record
		encode(&r, m, string(key))
		size, err := sizeOf(m, string(key))
		if err != nil {
			t.Fatal(err)
		}
		again := messages([]*kgo.Record{&r})[0]
		if again.UUID != m.UUID || !maps.Equal(again.Metadata, m.Metadata) || string(again.Payload) != string(value) {
			t.Fatalf("%+v comes back as %+v", m, again)
		}
		if least := len(r.Key) + len(r.Value); size < least {
			t.Fatalf("a record of %d bytes and more counts as %d", least, size)
		}
	})
}

// A message that says which record header it is takes no other's place.
func FuzzRecord(f *testing.F) {
	f.Add("id", "ce_type", "Paid", "key", []byte("{}"))
	f.Add("", idHeader, "forged", "", []byte(nil))
	f.Fuzz(func(t *testing.T, id, name, text, key string, payload []byte) {
		m := message.NewMessage(id, payload)
		m.Metadata[name] = text
		var r kgo.Record
		encode(&r, m, key)
		_, err := sizeOf(m, key)
		if (err != nil) != (name == idHeader) {
			t.Fatalf("metadata %q: %v", name, err)
		}
		if err != nil {
			return
		}
		again := messages([]*kgo.Record{&r})[0]
		if again.UUID != id || again.Metadata[name] != text || r.Value == nil {
			t.Fatalf("%+v comes back as %+v", m, again)
		}
	})
}
