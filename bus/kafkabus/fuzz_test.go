package kafkabus

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/event"
)

// A record of any program becomes a message, and that message keeps all its data.
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
		require.NoError(t, err)
		again := messages([]*kgo.Record{&r})[0]
		if again.UUID != m.UUID || !maps.Equal(again.Metadata, m.Metadata) || string(again.Payload) != string(value) {
			t.Fatalf("%+v comes back as %+v", m, again)
		}
		if least := len(r.Key) + len(r.Value); size < least {
			t.Fatalf("a record of %d bytes and more counts as %d", least, size)
		}
	})
}

// A message whose metadata names a record header does not replace that header.
func FuzzRecord(f *testing.F) {
	f.Add("id", "ce_type", "Paid", "key", []byte("{}"))
	f.Add("", idHeader, "forged", "", []byte(nil))
	f.Fuzz(func(t *testing.T, id, name, text, key string, payload []byte) {
		m := message.NewMessage(id, payload)
		m.Metadata[name] = text
		var r kgo.Record
		encode(&r, m, key)
		_, err := sizeOf(m, key)
		require.Equalf(t, (name == idHeader), (err != nil), "metadata %q: %v", name, err)
		if err != nil {
			return
		}
		again := messages([]*kgo.Record{&r})[0]
		if again.UUID != id || again.Metadata[name] != text || r.Value == nil {
			t.Fatalf("%+v comes back as %+v", m, again)
		}
	})
}

// A note of any program is refused, or is read as it is written again.
func FuzzNote(f *testing.F) {
	f.Add(int64(100), "millrace/1:AQIRAQ")
	f.Add(int64(1), "millrace/2:3,7,1:AQIRAQ")
	f.Add(int64(0), "millrace/2:-1,0,99999999999999999999:")
	f.Add(int64(7), "consumer-1@host")
	f.Fuzz(func(t *testing.T, at int64, text string) {
		n, err := noteIn(commit{at, text})
		if err != nil || len(text) > maxNote {
			return
		}
		if n.starts < 0 || n.times < 0 {
			t.Fatalf("%q has the counts %+v", text, n.counts)
		}
		written := noteOf(at, n.counts, slices.Collect(maps.Keys(n.done)))
		again, err := noteIn(commit{at, written})
		if err != nil || again.starts != n.starts || again.times != n.times || n.times > 0 && again.alone != n.alone {
			t.Fatalf("%q is %+v, and %q again: %+v, %v", text, n, written, again, err)
		}
		for offset := range again.done {
			if _, ok := n.done[offset]; !ok {
				t.Fatalf("%q says %d, and %q did not", written, offset, text)
			}
		}
	})
}
