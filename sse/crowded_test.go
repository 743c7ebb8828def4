package sse_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/sse"
)

// A process serves a limited number of streams, and a limited number of one address;
// each stream that ends makes room. A refused client is told to come back.
func TestCrowded(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, Streams: 4, PerAddress: 2})
		open := func(member, address string) *client { return dial(t, s.url+"?member="+member+"&address="+address) }
		refused := func(member, address string) {
			t.Helper()
			c := open(member, address)
			if c.status != 503 || c.header.Get("Retry-After") == "" {
				t.Fatalf("%s from %q: %d, %v", member, address, c.status, c.header)
			}
			for err := range s.served { // those that had ended before it come first
				if errors.Is(err, sse.ErrCrowded) {
					return
				}
			}
		}
		first := open("m1", "a")
		open("m2", "a")
		refused("m3", "a")
		eventually(t, "two streams", func() bool { return s.Stats().Streams == 2 })
		open("m3", "b")
		open("m4", "")
		eventually(t, "four streams", func() bool { return s.Stats().Streams == 4 })
		refused("m5", "c")
		refused("m5", "")
		first.close()
		eventually(t, "three streams", func() bool { return s.Stats().Streams == 3 })
		assert.Equal(t, 200, open("m6", "a").status, "after one has ended")
		assert.EqualValues(t, 3, s.Stats().Outages, "requests without a stream are counted")
	})
}
