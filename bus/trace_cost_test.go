package bus

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

func TestWithoutAProviderTracesCostNothing(t *testing.T) {
	c, err := &consumer{}, errors.New("refused")
	m := message.NewMessage("1", nil)
	d, ctx, e := &delivery{source: m}, context.Background(), event.Event{ID: "1"}
	b, messages := &batch{deliveries: []*delivery{d}}, []*message.Message{m}
	if n := testing.AllocsPerRun(100, func() {
		c.trace(d, m)
		d.failing(err, fault.Transient)
		d.finish(outcomeHandled)
		c.traceBatch(ctx, b, messages)
		b.finish(c)
		passOn(ctx, e)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
