package kafkabus

import (
	"fmt"
	"slices"
	"testing"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
)

// The record that Watermill's Kafka publisher makes of the same message, with
// its partitioning marshaler and the key as partition key.
func TestWireFormat(t *testing.T) {
	m := message.NewMessage("id-1", []byte("payload"))
	m.Metadata.Set(event.KeyHeader, "user-7")
	m.Metadata.Set("ce_type", "PaymentSuccess")
	r, size, err := record(m, event.Key(m))
	if err != nil {
		t.Fatal(err)
	}
	var headers []string
	for _, h := range r.Headers {
		headers = append(headers, string(h.Key)+"="+string(h.Value))
	}
	slices.Sort(headers)
	if want := "[_watermill_message_uuid=id-1 ce_type=PaymentSuccess partitionkey=user-7]"; fmt.Sprint(headers) != want {
		t.Errorf("headers are %v, want %s", headers, want)
	}
	if string(r.Key) != "user-7" || string(r.Value) != "payload" {
		t.Errorf("key %q, value %q", r.Key, r.Value)
	}
	if least := len("id-1payloaduser-7user-7PaymentSuccess"); size < least {
		t.Errorf("the size of %d is below the %d bytes of content", size, least)
	}
	back := decode(r.Key, r.Headers, r.Value)
	if !back.Equals(m) {
		t.Errorf("came back as %s %v %s", back.UUID, back.Metadata, back.Payload)
	}

	// Without a key: empty, and not missing, as with Watermill's marshaler.
	if r, _, err = record(message.NewMessage("id-2", nil), ""); err != nil || r.Key == nil || r.Value == nil || len(r.Key)+len(r.Value) > 0 {
		t.Errorf("a keyless, empty message has key %v, value %v, %v", r.Key, r.Value, err)
	}
	// Somebody else's record keeps its key, and gets no other.
	if m := decode([]byte("k"), nil, []byte("x")); event.Key(m) != "k" || m.UUID != "" {
		t.Errorf("a foreign record has key %q and UUID %q", event.Key(m), m.UUID)
	}
	if m := decode([]byte("k"), []*sarama.RecordHeader{{Key: []byte("ce_subject"), Value: []byte("s")}}, nil); len(m.Metadata) != 1 {
		t.Errorf("a foreign event has metadata %v", m.Metadata)
	}
}

// Keys go where Sarama's and Java's producers send them.
func TestPartitioners(t *testing.T) {
	reference := sarama.NewHashPartitioner("")
	murmur := sarama.NewMurmur2Partitioner("")
	choose, err := partitionerOf("murmur2")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int32{1, 3, 12, 24, 1000} {
		for i := range 500 {
			key := fmt.Sprint("key-", i*i)
			if i == 0 {
				key = ""
			}
			m := &sarama.ProducerMessage{Key: sarama.StringEncoder(key)}
			want, err := reference.Partition(m, n)
			if err != nil {
				t.Fatal(err)
			}
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

func TestPrefix(t *testing.T) {
	var p prefix
	for _, offset := range []int64{10, 11, 15, 16, 20} { // with holes
		p.add(offset)
	}
	for _, step := range []struct {
		confirm, next int64
		grew          bool
		span          int
	}{
		{2, 0, false, 5}, {0, 11, true, 4}, {0, 11, false, 4}, {4, 11, false, 4}, {1, 16, true, 2}, {3, 21, true, 0}, {99, 21, false, 0},
	} {
		if grew := p.confirm(step.confirm); grew != step.grew || p.next != step.next || p.span() != step.span {
			t.Errorf("after %d: next %d (grew: %t), span %d; want %d (%t), %d", step.confirm, p.next, grew, p.span(), step.next, step.grew, step.span)
		}
	}
	if seq := p.add(30); seq != 5 || !p.confirm(seq) || p.next != 31 {
		t.Errorf("after all: sequence %d, next %d", seq, p.next)
	}
	// It does not grow with what it has seen.
	for i := range 100_000 {
		p.confirm(p.add(int64(100 + i)))
	}
	if cap(p.slots) > 16 {
		t.Errorf("%d slots are kept for nothing", cap(p.slots))
	}
}
