package redisbus

import (
	"maps"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// An entry of any writer is delivered with the fields that it has; metadata of ours comes
// back whole.
func FuzzEntry(f *testing.F) {
	f.Add("1-1", "id", "\x81\xa1a\xa1b", []byte("{}"), true)
	f.Add("", "", "", []byte(nil), false)
	f.Add("1-1", "id", "\xdf\xff\xff\xff\xff", []byte{0xff}, true)
	f.Fuzz(func(t *testing.T, stream, id, metadata string, payload []byte, named bool) {
		values := map[string]any{metadataField: metadata, payloadField: string(payload), "other": 7}
		if named {
			values[idField] = id
		} else {
			id = stream
		}
		e := entryOf(redis.XMessage{ID: stream, Values: values})
		if e.MessageID != id || e.Headers != metadata || string(e.Payload) != string(payload) {
			t.Fatalf("%v is read as %+v", values, e)
		}
		found, err := headers{}.Decode(e.Headers)
		if err != nil {
			return
		}
		text, err := headers{}.Encode(found)
		require.NoError(t, err)
		if again, err := (headers{}).Decode(text); err != nil || !maps.Equal(again, found) {
			t.Fatalf("%v comes back as %v, %v", found, again, err)
		}
	})
}

// Metadata is any text at all.
func FuzzMetadata(f *testing.F) {
	f.Add("ce_type", "Paid", "")
	f.Add("", "\xff\x00", strings.Repeat("a", 300))
	f.Fuzz(func(t *testing.T, name, text, other string) {
		want := message.Metadata{name: text, other: name}
		encoded, err := headers{}.Encode(want)
		require.NoError(t, err)
		if got, err := (headers{}).Decode(encoded); err != nil || !maps.Equal(got, want) {
			t.Fatalf("%v comes back as %v, %v", want, got, err)
		}
	})
}

// The value in the hash of topics is a topic within its bounds, or an error.
func FuzzTopic(f *testing.F) {
	f.Add("orders", `{"partitions":3,"retention":259200000000000}`)
	f.Add("orders", `{"partitions":1000000000}`)
	f.Add("", `{"partitions":0}`)
	f.Add("{x}", `[]`)
	f.Fuzz(func(t *testing.T, name, text string) {
		s := &store{keys: "p:"}
		topic, err := s.topicOf(name, text)
		if err != nil {
			if known, ok := s.lanes.Topic(name); ok {
				t.Fatalf("%q is refused (%v) and known as %+v", text, err, known)
			}
			return
		}
		if topic.Name != name || topic.Partitions < 1 || topic.Partitions > logdriver.MaxPartitions || topic.FirstLane != 0 {
			t.Fatalf("%q is read as %+v", text, topic)
		}
		if last := s.partition(topic.Partitions - 1); last.Topic != name || last.N != topic.Partitions-1 {
			t.Fatalf("%q has the last lane %+v", text, last)
		}
	})
}

// A script's answer is well-formed, or an error.
func FuzzAnswers(f *testing.F) {
	f.Add("isisi", int64(1), "1-1")
	f.Add("issii", int64(-1), "")
	f.Add("iiss", int64(7), "0-0")
	f.Add("n", int64(0), "")
	f.Fuzz(func(t *testing.T, kinds string, n int64, text string) {
		if len(kinds) > 16 {
			t.Skip()
		}
		answer := make([]any, len(kinds))
		for i, kind := range kinds {
			switch kind {
			case 'i':
				answer[i] = n
			case 's':
				answer[i] = text
			}
		}
		wellFormed := len(kinds) == 5 && kinds[1:] == "isii"
		if g, err := leaseOf(answer); (err == nil) != wellFormed || err == nil && (g.token != n || g.id != text || g.count != n) {
			t.Errorf("%v is the lease %+v, %v", answer, g, err)
		}
		if b, err := backlogOf(answer); (err == nil) != (len(answer) != 4 || kinds == "iiss") || b.group != (kinds == "iiss") {
			t.Errorf("%v is the backlog %+v, %v", answer, b, err)
		}
	})
}
