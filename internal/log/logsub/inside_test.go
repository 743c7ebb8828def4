package logsub

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/log"
)

func TestShare(t *testing.T) {
	for n := 1; n <= 30; n++ {
		for members := 1; members <= 40; members++ {
			sum, least, most := 0, n, 0
			for rank := range members {
				s := share(n, members, rank)
				sum, least, most = sum+s, min(least, s), max(most, s)
			}
			if sum != n || most-least > 1 {
				t.Errorf("%d partitions, %d members: the shares sum up to %d, from %d to %d", n, members, sum, least, most)
			}
		}
	}
}

func TestConfigRejects(t *testing.T) {
	for _, cfg := range []Config{{Partitions: -1}, {Partitions: MaxPartitions + 1}, {Retention: -1}, {LeaseTTL: -1}, {PollInterval: -1}, {CommitInterval: -1}, {PruneInterval: -1}, {Span: -1}} {
		assert.Errorf(t, cfg.validate(), "%+v was accepted", cfg)
	}
	if _, err := New(Backend{}, Config{}); err == nil {
		t.Error("a hub without a backend was made")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("", []byte("p"))
	f.Add(`{"a":"b"}`, []byte(nil))
	f.Add(`{"a":1}`, []byte{0xff})
	f.Add(`null`, []byte{})
	f.Fuzz(func(t *testing.T, headers string, payload []byte) {
		msg := (&Hub{}).message(log.Entry{MessageID: "id", Headers: headers, Payload: payload})
		if msg == nil || msg.Metadata == nil || string(msg.Payload) != string(payload) {
			t.Fatalf("%q: the message is %+v", headers, msg)
		}
		msg.Metadata.Set("x", "writable")
	})
}
