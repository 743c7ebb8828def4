package inbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/sse"
)

func TestLiveSendsBelongToTheTraceOfTheirEvent(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		o := newOffice(t, inbox.Config{Traces: keeps})
		o.follow("ann", 2)
		within := map[string]trace.SpanContext{} // used by the sending goroutine only, until all came
		out := &wire{}
		out.before = func(ctx context.Context, _ string, e sse.Event) error {
			within[e.ID] = trace.SpanContextFromContext(ctx)
			return nil
		}
		o.inbox.SetSender(out)
		handle := func(n byte, flags trace.TraceFlags, typ string) (prefix string, sc trace.SpanContext) {
			sc = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{n}, SpanID: trace.SpanID{n}, TraceFlags: flags})
			e := notice(t, typ, "ann", "r-1")
			_, err := o.try(trace.ContextWithSpanContext(t.Context(), sc), e, nil)
			require.NoError(t, err)
			return e.ID + "/", sc
		}
		one, ofOne := handle(1, trace.FlagsSampled, events.ReservationNotice)
		many, ofMany := handle(2, trace.FlagsSampled, events.PostLiked)
		dropped, _ := handle(3, 0, events.ReservationNotice)
		stop := o.run()
		ids := out.wait(t, 4)
		stop()
		for _, id := range ids {
			want := trace.SpanContext{}
			switch {
			case !keeps || id == dropped+"ann":
			case id == one+"ann":
				want = ofOne
			case len(id) > len(many) && id[:len(many)] == many:
				want = ofMany
			}
			if got := within[id]; got.TraceID() != want.TraceID() || got.SpanID() != want.SpanID() || got.IsSampled() != want.IsSampled() {
				t.Errorf("kept is %v: %s is sent within %v, want %v", keeps, id, got.TraceID(), want.TraceID())
			}
		}
		assert.Equal(t, 0, o.count(`SELECT COUNT(*) FROM notification_traces`), "traces are")
	}
}
