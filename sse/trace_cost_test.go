package sse

import (
	"context"
	"testing"
	"time"

	"github.com/millrace-go/millrace/sse/driver"
)

func TestWithoutAProviderTracesCostNothing(t *testing.T) {
	h, s := &Hub{}, &stream{}
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		m := driver.Message{Kind: driver.ToMember, Arg: originOf(ctx, time.Time{})}
		d := h.follows(m)
		d.took()
		s.tracks(d)
		doneAll(s.traced, true)
		d.release()
		s.forgetHeld()
		s.forgetTraced()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
