package outbox

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/event"
)

type nowhere struct{}

func (nowhere) Publish(string, ...*message.Message) error { return nil }
func (nowhere) Close() error                              { return nil }

func TestWithoutAProviderTracesCostNothing(t *testing.T) {
	ctx, e := context.Background(), event.Event{ID: "e-1"}
	if n := testing.AllocsPerRun(100, func() {
		var made creation
		made.in(ctx, nil, "t", &e)
		made.end(nil)
	}); n != 0 {
		t.Errorf("an event costs %v allocations", n)
	}
	r := &Relay{pub: nowhere{}}
	msgs := []*message.Message{message.NewMessage("e-1", []byte("{}"))}
	if n := testing.AllocsPerRun(100, func() {
		assert.NoError(t, r.send(ctx, "t", msgs))
	}); n != 0 {
		t.Errorf("a Publish call costs %v allocations", n)
	}
}
