package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/spantest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/sqltx"
)

const foreign = "00-11111111111111111111111111111111-2222222222222222-01"

// traced is an outbox whose spans are recorded.
type traced struct {
	*bench
	spans *spantest.Recorder
}

func newTraced(t *testing.T) *traced {
	t.Helper()
	b := &traced{bench: newBench(t, 1), spans: new(spantest.Recorder)}
	var err error
	if b.box, err = outbox.New(b.store, outbox.Config{Topic: "t", TracerProvider: b.spans}); err != nil {
		t.Fatal(err)
	}
	return b
}

// appendAll appends in one call, under a span if there is one.
func (b *traced) appendAll(ctx context.Context, events ...event.Event) error {
	b.t.Helper()
	return b.store.Do(ctx, func(ctx context.Context, tx sqltx.Execer) error { return b.box.Append(ctx, tx, events...) })
}

// drain publishes all events and returns the messages.
func (b *traced) drain(cfg outbox.RelayConfig) []event.Event {
	b.t.Helper()
	r := b.relay(cfg)
	if err := r.Drain(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	var all []event.Event
	for _, p := range b.pub.Published() {
		all = append(all, p.Event)
	}
	return all
}

func newEvents(t *testing.T, n int) []event.Event {
	t.Helper()
	all := make([]event.Event, n)
	for i := range all {
		e, err := outboxtest.NewEvent(fmt.Sprint("key-", i), 1)
		require.NoError(t, err)
		e.CorrelationID = "request-1"
		all[i] = e
	}
	return all
}

// attributes returns the attributes of a span as name=value, sorted.
func attributes(s *spantest.Span) (all []string) {
	for _, a := range s.Attributes() {
		all = append(all, string(a.Key)+"="+a.Value.String())
	}
	slices.Sort(all)
	return all
}

func headerOf(sc trace.SpanContext) string {
	return fmt.Sprintf("00-%s-%s-%s", sc.TraceID(), sc.SpanID(), sc.TraceFlags())
}

func TestAppendMakesACreateSpanPerEvent(t *testing.T) {
	b := newTraced(t)
	events := newEvents(t, 2)
	ctx, request := b.spans.Tracer("test").Start(t.Context(), "request")
	require.NoError(t, b.appendAll(ctx, events...))
	made := b.spans.Ended()
	require.Len(t, made, 2, "spans, want one per event")
	for i, s := range made {
		if s.Name() != "create t" || s.SpanKind() != trace.SpanKindProducer || s.Parent().SpanID() != request.SpanContext().SpanID() || s.Status().Code != codes.Unset {
			t.Errorf("%s %v under %v, %v", s.Name(), s.SpanKind(), s.Parent().SpanID(), s.Status())
		}
		want := []string{
			"messaging.destination.name=t", "messaging.message.conversation_id=request-1", "messaging.message.id=" + events[i].ID,
			"messaging.operation.name=create", "messaging.operation.type=create", "messaging.system=millrace_outbox",
		}
		if got := attributes(s); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	for i, e := range b.drain(outbox.RelayConfig{Lanes: 1}) {
		if want := headerOf(made[i].SpanContext()); e.TraceParent != want {
			t.Errorf("the message has %q, want its create span's %q", e.TraceParent, want)
		}
	}
	assert.Equal(t, "", events[0].TraceParent, "the caller's event was changed")
}

func TestAppendKeepsTheTraceOfAnEvent(t *testing.T) {
	b := newTraced(t)
	events := newEvents(t, 1)
	events[0].TraceParent, events[0].TraceState = foreign, "vendor=1"
	require.NoError(t, b.appendAll(t.Context(), events...))
	assert.Equal(t, 0, len(b.spans.Ended()), "spans for an event that was made elsewhere")
	if e := b.drain(outbox.RelayConfig{})[0]; e.TraceParent != foreign || e.TraceState != "vendor=1" {
		t.Errorf("%q %q", e.TraceParent, e.TraceState)
	}
}

func TestAppendCarriesTheContextWithoutAProvider(t *testing.T) {
	b := newTraced(t)
	var err error
	if b.box, err = outbox.New(b.store, outbox.Config{Topic: "t"}); err != nil {
		t.Fatal(err)
	}
	ctx, request := b.spans.Tracer("test").Start(t.Context(), "request")
	require.NoError(t, b.appendAll(ctx, newEvents(t, 1)...))
	require.NoError(t, b.appendAll(t.Context(), newEvents(t, 1)...))
	got := b.drain(outbox.RelayConfig{Lanes: 1})
	if got[0].TraceParent != headerOf(request.SpanContext()) || got[1].TraceParent != "" {
		t.Errorf("%q and %q, want %q and none", got[0].TraceParent, got[1].TraceParent, headerOf(request.SpanContext()))
	}
	assert.Equal(t, 0, len(b.spans.Ended()), "spans")
}

// TestAppendCarriesTheCorrelation: the id of a request reaches its events, and their children,
// without a tracer.
func TestAppendCarriesTheCorrelation(t *testing.T) {
	b := newTraced(t)
	var err error
	if b.box, err = outbox.New(b.store, outbox.Config{Topic: "t"}); err != nil {
		t.Fatal(err)
	}
	made := newEvents(t, 2)
	made[0].CorrelationID, made[1].CorrelationID = "", ""
	require.NoError(t, b.appendAll(event.WithCorrelation(t.Context(), "request-7"), made[0]))
	parent := b.drain(outbox.RelayConfig{Lanes: 1})[0]
	require.NoError(t, b.appendAll(event.NewContext(t.Context(), parent), made[1]))
	child := b.drain(outbox.RelayConfig{Lanes: 1})[1]
	if parent.CorrelationID != "request-7" || child.CorrelationID != "request-7" || child.CausationID != parent.ID {
		t.Errorf("%+v, %+v", parent, child)
	}
}

func TestAppendThatFailsSaysSoInItsSpans(t *testing.T) {
	b := newTraced(t)
	events := newEvents(t, 3)
	events[2].Type = "" // refused after two events had spans
	secret := errors.New("insert: payload-text")
	require.Error(t, b.appendAll(t.Context(), events...), "an invalid event was appended")
	b.store.Intercept = func(op string) error {
		if op == "append" {
			return secret
		}
		return nil
	}
	require.ErrorIs(t, b.appendAll(t.Context(), events[0]), secret)
	made := b.spans.Ended()
	require.Len(t, made, 3, "spans ended")
	for i, s := range made {
		why := []string{"permanent", "permanent", "transient"}[i]
		if s.Status().Code != codes.Error || s.Status().Description != "" || !slices.Contains(attributes(s), "error.type="+why) {
			t.Errorf("%v %v", s.Status(), attributes(s))
		}
	}
}

func TestRelayLinksAndOverwritesNothing(t *testing.T) {
	b := newTraced(t)
	events := newEvents(t, 3)
	events[1].TraceParent = foreign
	require.NoError(t, b.appendAll(t.Context(), events...))
	created := b.spans.Ended()
	b.spans.Reset()
	got := b.drain(outbox.RelayConfig{TracerProvider: b.spans, System: "kafka", Lanes: 1, Chunk: 10})
	sent := b.spans.Ended()
	require.Len(t, sent, 1, "spans for one Publish call")
	s := sent[0]
	want := []string{
		"messaging.batch.message_count=3", "messaging.destination.name=t",
		"messaging.operation.name=send", "messaging.operation.type=send", "messaging.system=kafka",
	}
	if s.Name() != "send t" || s.SpanKind() != trace.SpanKindClient || s.Parent().IsValid() || !slices.Equal(attributes(s), want) {
		t.Errorf("%s %v %v %v", s.Name(), s.SpanKind(), s.Parent(), attributes(s))
	}
	contexts := []string{headerOf(created[0].SpanContext()), foreign, headerOf(created[1].SpanContext())}
	if len(s.Links()) != 3 || len(got) != 3 {
		t.Fatalf("%d links, %d messages", len(s.Links()), len(got))
	}
	for i, l := range s.Links() {
		if headerOf(l.SpanContext) != contexts[i] || l.Attributes[0] != attribute.String("messaging.message.id", events[i].ID) {
			t.Errorf("link %d: %s %v, want %s", i, headerOf(l.SpanContext), l.Attributes, contexts[i])
		}
		if got[i].TraceParent != contexts[i] {
			t.Errorf("message %d has %q, want %q", i, got[i].TraceParent, contexts[i])
		}
	}
}

// refusing refuses all messages but dead letters, which it records.
type refusing struct {
	err     error
	letters []*message.Message
	spans   []trace.SpanContext
}

func (p *refusing) Publish(topic string, msgs ...*message.Message) error {
	p.spans = append(p.spans, trace.SpanContextFromContext(msgs[0].Context()))
	if strings.HasSuffix(topic, ".DLT") {
		p.letters = append(p.letters, msgs...)
		return nil
	}
	return p.err
}
func (*refusing) Close() error { return nil }

func TestRelayThatFailsSaysSoInItsSpan(t *testing.T) {
	b := newTraced(t)
	events := newEvents(t, 1)
	events[0].TraceParent = foreign
	require.NoError(t, b.appendAll(t.Context(), events...))
	pub := &refusing{err: fault.MarkPermanent(errors.New("payload-text is refused"))}
	r, err := outbox.NewRelay(b.store, pub, outbox.RelayConfig{
		TracerProvider: b.spans, MaxRetries: 1, Retry: outbox.Backoff{Initial: 1, Max: 1, Jitter: -1},
		DeadLetter: func(topic string) string { return topic + ".DLT" },
	})
	require.NoError(t, err)
	require.NoError(t, r.Drain(t.Context()))
	var failed, buried int
	for i, s := range b.spans.Ended() {
		assert.True(t, pub.spans[i].Equal(s.SpanContext()), "a message was published outside of its span")
		if len(s.Links()) != 1 || headerOf(s.Links()[0].SpanContext) != foreign || !slices.Contains(attributes(s), "messaging.message.id="+events[0].ID) {
			t.Errorf("%s: %v %v", s.Name(), s.Links(), attributes(s))
		}
		switch s.Name() {
		case "send t":
			failed++
			if s.Status().Code != codes.Error || s.Status().Description != "" || !slices.Contains(attributes(s), "error.type=permanent") {
				t.Errorf("%v %v", s.Status(), attributes(s))
			}
		case "send t.DLT":
			buried++
		}
	}
	if failed != 1 || buried != 1 || len(pub.letters) != 1 {
		t.Fatalf("%d failed, %d buried", failed, buried)
	}
	letter, err := event.Decode(pub.letters[0])
	if err != nil || letter.TraceParent != foreign {
		t.Errorf("the dead letter has the trace %q, %v", letter.TraceParent, err)
	}
}
