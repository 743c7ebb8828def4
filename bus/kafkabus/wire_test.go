package kafkabus

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/event"
)

// The record equals the one that Watermill's Kafka publisher makes of the same message,
// with its partitioning marshaler and the key as partition key.
func TestWireFormat(t *testing.T) {
	m := message.NewMessage("id-1", []byte("payload"))
	m.Metadata.Set(event.KeyHeader, "user-7")
	m.Metadata.Set("ce_type", "PaymentSuccess")
	var r kgo.Record
	encode(&r, m, event.Key(m))
	memory := size(&r)
	size, err := sizeOf(m, event.Key(m))
	require.NoError(t, err)
	var headers []string
	for _, h := range r.Headers {
		headers = append(headers, h.Key+"="+string(h.Value))
	}
	slices.Sort(headers)
	assert.Equalf(t, "[_watermill_message_uuid=id-1 ce_type=PaymentSuccess partitionkey=user-7]", fmt.Sprint(headers), "headers are %v", headers)
	if string(r.Key) != "user-7" || string(r.Value) != "payload" {
		t.Errorf("key %q, value %q", r.Key, r.Value)
	}
	if least := len("id-1payloaduser-7user-7PaymentSuccess"); size < least || memory < 100+least {
		t.Errorf("the sizes of %d and %d are below the %d bytes of content", size, memory, least)
	}
	back := messages([]*kgo.Record{&r})[0]
	if !back.Equals(m) {
		t.Errorf("came back as %s %v %s", back.UUID, back.Metadata, back.Payload)
	}

	// Without a key: empty, and not missing, as with Watermill's marshaler.
	if encode(&r, message.NewMessage("id-2", nil), ""); r.Key == nil || r.Value == nil || len(r.Key)+len(r.Value) > 0 {
		t.Errorf("a keyless, empty message has key %v, value %v", r.Key, r.Value)
	}
	// Another program's record keeps its key, and gets no other.
	if m := messages([]*kgo.Record{{Key: []byte("k"), Value: []byte("x")}})[0]; event.Key(m) != "k" || m.UUID != "" {
		t.Errorf("a foreign record has key %q and UUID %q", event.Key(m), m.UUID)
	}
	if m := messageOf(&kgo.Record{Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: "ce_subject", Value: []byte("s")}}}); len(m.Metadata) != 1 {
		t.Errorf("a foreign event has metadata %v", m.Metadata)
	}
}

// Keys map to the same partitions as with Sarama's and Java's producers.
func TestPartitioners(t *testing.T) {
	reference := sarama.NewHashPartitioner("")
	murmur := sarama.NewMurmur2Partitioner("")
	choose, err := partitionerOf("murmur2")
	require.NoError(t, err)
	for _, n := range []int32{1, 3, 12, 24, 1000} {
		for i := range 500 {
			key := fmt.Sprint("key-", i*i)
			if i == 0 {
				key = ""
			}
			m := &sarama.ProducerMessage{Key: sarama.StringEncoder(key)}
			want, err := reference.Partition(m, n)
			require.NoError(t, err)
			if got := fnv1a([]byte(key), n); got != want {
				t.Fatalf("key %q of %d: partition %d, want %d", key, n, got, want)
			}
			if want, err = murmur.Partition(m, n); err != nil {
				t.Fatal(err)
			}
			if got := choose([]byte(key), n); got != want {
				t.Fatalf("key %q of %d: partition %d, want %d", key, n, got, want)
			}
		}
	}
}

// A commit's note is read with the offset that it was written with; other programs have
// notes of their own. Without counts the note is that of the previous release.
func TestNotes(t *testing.T) {
	done := map[int64]struct{}{101: {}, 102: {}, 120: {}}
	for text, want := range map[string]note{
		noteOf(100, counts{}, []int64{120, 101, 102}):          {done: done},
		"millrace/1:AQIRAQ":                                    {done: done},
		noteOf(100, counts{starts: 3}, []int64{120, 101, 102}): {counts{starts: 3}, done},
		noteOf(1<<40, counts{0, 1 << 41, 2}, nil):              {counts{0, 1 << 41, 2}, map[int64]struct{}{}},
		noteOf(100, counts{}, nil):                             {},
		"consumer-1@host":                                      {},
		"AAAA":                                                 {},
	} {
		got, err := noteIn(commit{100, text})
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	require.Equal(t, "millrace/1:AQIRAQ", noteOf(100, counts{}, []int64{120, 101, 102}))
	for _, text := range []string{donePrefix + "%", countedPrefix, countedPrefix + "1,2,3", countedPrefix + "1,2:", countedPrefix + "-1,2,3:", countedPrefix + "1,2,3:%"} {
		if got, err := noteIn(commit{100, text}); err == nil {
			t.Errorf("a note that cannot be read gave %v", got)
		}
	}
	var many []int64
	for n := range int64(10_000) {
		many = append(many, 101+2*n)
	}
	if n := len(noteOf(100, counts{1 << 30, 1 << 60, 1 << 30}, many)); n > 4096 {
		t.Errorf("a note has %d bytes; Kafka keeps 4,096", n)
	}
}

// Messages that an earlier owner finished behind the offset stay noted when the partition
// is handed over before they were fetched, with or without unacknowledged messages.
func TestNotesOfAnEarlierOwner(t *testing.T) {
	for name, tc := range map[string]struct {
		open bool // a message is unacknowledged
		at   int64
		want map[int64]struct{}
	}{
		"all done":       {false, 101, map[int64]struct{}{110: {}, 111: {}}},
		"unacknowledged": {true, 101, map[int64]struct{}{102: {}, 110: {}, 111: {}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := claim{done: map[int64]struct{}{7: {}, 110: {}, 111: {}}} // 7 was compacted away
			c.prefix.Done(c.prefix.Add(100))
			if tc.open {
				c.prefix.Add(101)
				c.prefix.Done(c.prefix.Add(102))
			}
			at, text, ok := c.next(leaving)
			if got, err := noteIn(commit{at, text}); !ok || err != nil || at != tc.at || !maps.Equal(got.done, tc.want) {
				t.Errorf("%d %v, %v, %v; want %d %v", at, got, ok, err, tc.at, tc.want)
			}
		})
	}
}
