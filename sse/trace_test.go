package sse_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/internal/spantest"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/driver"
)

func attributes(s *spantest.Span) (all []string) {
	for _, a := range s.Attributes() {
		all = append(all, string(a.Key)+"="+a.Value.String())
	}
	slices.Sort(all)
	return all
}

// ended waits for the next span.
func ended(t *testing.T, spans *spantest.Recorder, n int) []*spantest.Span {
	t.Helper()
	eventually(t, fmt.Sprint(n, " spans"), func() bool { return len(spans.Ended()) >= n })
	if all := spans.Ended(); len(all) > n {
		t.Fatalf("%d spans, want %d", len(all), n)
	}
	return spans.Ended()
}

// A worker sends, and two other processes have streams: each makes one span, for
// any number of streams.
func TestADeliveryIsTracedOverProcesses(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		c, b := newCap(t), newBroker(t)
		worker := start(t, c, b, sse.Config{})
		spans := new(spantest.Recorder)
		api := start(t, c, b, sse.Config{Lean: lean, TracerProvider: spans})
		idle := new(spantest.Recorder)
		start(t, c, b, sse.Config{Lean: lean, TracerProvider: idle})
		two := []*client{dial(t, api.url+"?member=ann&token=1"), dial(t, api.url+"?member=ann&token=2")}
		for _, c := range two {
			must(t, api.ToMember(t.Context(), "ann", sse.Event{Name: "probe"})) // until it hears
			c.next()
		}
		eventually(t, "the probes", func() bool { return len(spans.Ended()) == 2 })
		spans.Reset()

		tracer := new(spantest.Recorder)
		ctx, handling := tracer.Tracer("test").Start(t.Context(), "process domain_events")
		must(t, worker.ToMember(ctx, "ann", sse.Event{Name: "notification", ID: "7", Data: []byte("payload-text")}))
		s := ended(t, spans, 1)[0]
		if s.Name() != "deliver notification" || s.SpanKind() != trace.SpanKindConsumer || s.Status().Code != codes.Unset ||
			s.SpanContext().TraceID() != handling.SpanContext().TraceID() || s.Parent().SpanID() != handling.SpanContext().SpanID() || !s.Parent().IsRemote() {
			t.Errorf("%s %v %v under %v", s.Name(), s.SpanKind(), s.Status(), s.Parent())
		}
		want := []string{
			"messaging.destination.name=notification", "messaging.message.id=7", "messaging.operation.name=deliver",
			"messaging.operation.type=process", "messaging.system=millrace_sse", "millrace.sse.dropped=0", "millrace.sse.streams=2",
		}
		if got := attributes(s); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		assert.Equal(t, 0, len(idle.Ended()), "spans where nobody listens")
	})
}

func TestADeliveryEndsWhenItIsWritten(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		spans := new(spantest.Recorder)
		release := make(chan struct{})
		s := begin(t, newCap(t), newBroker(t), sse.Config{Lean: lean, TracerProvider: spans})
		s.replay = sse.Replayer(func(context.Context, sse.Cursors) (sse.Missed, error) {
			<-release
			return sse.Missed{Events: []sse.Event{{Name: "notification", ID: "1", Data: []byte("one")}}}, nil
		})
		must(t, s.Ready(t.Context()))
		ann := dial(t, s.url+"?member=ann")
		must(t, s.ToMember(t.Context(), "ann", sse.Event{Name: "notification", ID: "1", Data: []byte("one")}))
		must(t, s.ToMember(t.Context(), "ann", sse.Event{Name: "notification", ID: "2", Data: []byte("two")}))
		assert.Equal(t, 0, len(spans.Ended()), "spans ended while the stream opens")
		close(release)
		ann.gets("one", "two")
		for _, d := range ended(t, spans, 2) {
			if !slices.Contains(attributes(d), "millrace.sse.streams=1") || !slices.Contains(attributes(d), "millrace.sse.dropped=0") || d.Parent().IsValid() {
				t.Errorf("%v under %v", attributes(d), d.Parent())
			}
		}
	})
}

func TestADeliveryThatIsDroppedSaysSo(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		spans := new(spantest.Recorder)
		release := make(chan struct{})
		s := begin(t, newCap(t), newBroker(t), sse.Config{Lean: lean, MaxFrames: 2, TracerProvider: spans})
		s.replay = sse.Replayer(func(context.Context, sse.Cursors) (sse.Missed, error) { <-release; return sse.Missed{}, nil })
		must(t, s.Ready(t.Context()))
		ann := dial(t, s.url+"?member=ann")
		for range 3 { // one too many while it opens
			must(t, s.ToMember(t.Context(), "ann", text("late")))
		}
		for _, d := range ended(t, spans, 2) {
			if d.Name() != "deliver" || d.Status().Code != codes.Error || !slices.Contains(attributes(d), "error.type=not_written") || !slices.Contains(attributes(d), "millrace.sse.dropped=1") {
				t.Errorf("%s %v %v", d.Name(), d.Status(), attributes(d))
			}
		}
		close(release)
		ann.over()
	})
}

// Bytes that the kernel does not take from a stalled client are not written.
func TestADeliveryThatStallsIsNotWritten(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		spans := new(spantest.Recorder)
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, WriteTimeout: 200 * time.Millisecond, MaxBytes: 8 << 20, TracerProvider: spans}, smallBuffers)
		stall(t, s, "?member=slow")
		must(t, s.ToMember(t.Context(), "slow", sse.Event{Data: bytes.Repeat([]byte("x"), 1_000_000)}))
		eventually(t, "it is cut", func() bool { return s.Stats().Ended.Slow == 1 })
		if d := ended(t, spans, 1)[0]; d.Status().Code != codes.Error || !slices.Contains(attributes(d), "millrace.sse.dropped=1") {
			t.Errorf("%v %v", d.Status(), attributes(d))
		}
	})
}

// taps keeps the published messages.
type taps struct {
	driver.Broker
	got []driver.Message
}

func (b *taps) Publish(ctx context.Context, m driver.Message) error {
	b.got = append(b.got, m)
	return b.Broker.Publish(ctx, m)
}

func TestOldAndNewInstancesUnderstandEachOther(t *testing.T) {
	broker := &taps{Broker: newBroker(t)}
	spans := new(spantest.Recorder)
	s := start(t, newCap(t), broker, sse.Config{TracerProvider: spans})
	ann := dial(t, s.url+"?member=ann")
	// A message as instances without traces wrote it.
	old, err := driver.ParseMessage([]byte("\x01\x01\x03ann\x00\x03old\x00event: old\ndata: one\n\n"))
	must(t, err)
	must(t, broker.Publish(t.Context(), old))
	ann.gets("one")
	if d := ended(t, spans, 1)[0]; d.Name() != "deliver old" || d.Parent().IsValid() {
		t.Errorf("%s under %v", d.Name(), d.Parent())
	}
	// Those instances ignore the field with the new parts.
	ctx, sending := spans.Tracer("test").Start(t.Context(), "sending")
	must(t, s.ToMember(ctx, "ann", sse.Event{Name: "new", Data: []byte("two")}))
	m := broker.got[len(broker.got)-1]
	want := fmt.Sprintf("00-%s-%s-01", sending.SpanContext().TraceID(), sending.SpanContext().SpanID())
	if m.Arg != want || !bytes.Equal(m.Append(nil), []byte("\x01\x01\x03ann\x37"+want+"\x03new\x00event: new\ndata: two\n\n")) {
		t.Errorf("%+v", m)
	}
	long, err := trace.ParseTraceState("vendor=" + strings.Repeat("x", 250))
	must(t, err)
	ctx = trace.ContextWithSpanContext(ctx, sending.SpanContext().WithTraceState(long))
	must(t, s.ToMember(ctx, "ann", sse.Event{Name: "new"}))
	if m := broker.got[len(broker.got)-1]; m.Arg != want {
		t.Errorf("a name is longer than an old instance takes it: %d bytes", len(m.Arg))
	}
}
