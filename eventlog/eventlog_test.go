package eventlog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/eventlog"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
)

func spanIn(t *testing.T, ctx context.Context) context.Context {
	t.Helper()
	trID, err := trace.TraceIDFromHex(traceID)
	require.NoError(t, err)
	spID, err := trace.SpanIDFromHex(spanID)
	require.NoError(t, err)
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: trID, SpanID: spID}))
}

func handlerTo(b *bytes.Buffer) slog.Handler {
	return eventlog.NewHandler(slog.NewJSONHandler(b, nil))
}

// line reads the only line written.
func line(t *testing.T, b *bytes.Buffer) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return m
}

func TestIDs(t *testing.T) {
	bare := event.Event{ID: "e-1"}
	child := event.Event{ID: "e-2", CorrelationID: "e-1"}
	traced := event.Event{ID: "e-3", TraceParent: "00-11111111111111111111111111111111-2222222222222222-01"}
	broken := event.Event{ID: "e-4", TraceParent: "nonsense"}
	for _, c := range []struct {
		ctx  context.Context
		want map[string]any
	}{
		{t.Context(), map[string]any{}},
		{event.NewContext(t.Context(), bare), map[string]any{"event_id": "e-1", "correlation_id": "e-1"}},
		{event.NewContext(t.Context(), child), map[string]any{"event_id": "e-2", "correlation_id": "e-1"}},
		{event.NewContext(t.Context(), traced), map[string]any{"event_id": "e-3", "correlation_id": "e-3", "trace_id": "11111111111111111111111111111111"}},
		{event.NewContext(t.Context(), broken), map[string]any{"event_id": "e-4", "correlation_id": "e-4"}},
		{event.NewContext(t.Context(), event.Event{}), map[string]any{}},
		{event.WithCorrelation(t.Context(), "r-1"), map[string]any{"correlation_id": "r-1"}},
		{event.NewContext(event.WithCorrelation(t.Context(), "r-1"), child), map[string]any{"event_id": "e-2", "correlation_id": "e-1"}},
		{trace.ContextWithRemoteSpanContext(t.Context(), trace.SpanContextFromContext(spanIn(t, t.Context()))), map[string]any{"trace_id": traceID}},
		{spanIn(t, t.Context()), map[string]any{"trace_id": traceID, "span_id": spanID}},
		{spanIn(t, event.NewContext(t.Context(), traced)), map[string]any{"event_id": "e-3", "correlation_id": "e-3", "trace_id": traceID, "span_id": spanID}},
	} {
		var b bytes.Buffer
		slog.New(handlerTo(&b)).InfoContext(c.ctx, "said")
		got := line(t, &b)
		for _, known := range []string{"time", "level", "msg"} {
			delete(got, known)
		}
		assert.Equalf(t, fmt.Sprint(c.want), fmt.Sprint(got), "%v, want %v", got, c.want)
	}
}

func TestIDsStandOnce(t *testing.T) {
	ctx := spanIn(t, event.NewContext(t.Context(), event.Event{ID: "e-2", CorrelationID: "e-1"}))
	about := eventlog.Event(event.Event{ID: "e-9", CorrelationID: "e-8"})
	for name, say := range map[string]func(*slog.Logger){
		"record":  func(l *slog.Logger) { l.InfoContext(ctx, "said", about) },
		"logger":  func(l *slog.Logger) { l.With(about).InfoContext(ctx, "said") },
		"grouped": func(l *slog.Logger) { l.With(about).WithGroup("g").InfoContext(ctx, "said", "a", 1) },
		"plainly": func(l *slog.Logger) { l.InfoContext(ctx, "said", "event_id", "e-9", "correlation_id", "e-8") },
		"siblings": func(l *slog.Logger) {
			l = l.With("a", 1)
			_ = l.With("event_id", "another")
			l.With(about).InfoContext(ctx, "said")
		},
	} {
		var b bytes.Buffer
		say(slog.New(handlerTo(&b)))
		for _, id := range []string{"event_id", "correlation_id", "trace_id", "span_id"} {
			if strings.Count(b.String(), `"`+id+`"`) != 1 {
				t.Errorf("%s: %s does not stand there once: %s", name, id, b.String())
			}
		}
		if got := line(t, &b); got["event_id"] != "e-9" || got["correlation_id"] != "e-8" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestIDsStandOutsideOfGroups(t *testing.T) {
	ctx := event.NewContext(t.Context(), event.Event{ID: "e-1"})
	var b bytes.Buffer
	log := slog.New(handlerTo(&b)).With("a", 1).WithGroup("g").With("b", 2).WithGroup("h")
	log.InfoContext(ctx, "said", "event_id", "in the group")
	got := line(t, &b)
	if got["event_id"] != "e-1" || got["a"] != 1.0 || fmt.Sprint(got["g"]) != "map[b:2 h:map[event_id:in the group]]" {
		t.Errorf("%v", got)
	}
}

func TestNothingToSay(t *testing.T) {
	var with, without bytes.Buffer
	opts := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	say := func(h slog.Handler) {
		slog.New(h).With("a", 1).WithGroup("g").WithGroup("").With().InfoContext(t.Context(), "said", "b", 2)
	}
	say(eventlog.NewHandler(slog.NewJSONHandler(&with, opts)))
	say(slog.NewJSONHandler(&without, opts))
	assert.Equalf(t, without.String(), with.String(), "%s, want %s", &with, &without)
	quiet := eventlog.NewHandler(slog.NewJSONHandler(&with, &slog.HandlerOptions{Level: slog.LevelError}))
	assert.False(t, quiet.Enabled(t.Context(), slog.LevelInfo), "it is enabled where the next handler is not")
	log := slog.New(eventlog.NewHandler(slog.DiscardHandler))
	assert.EqualValues(t, 0, testing.AllocsPerRun(100, func() { log.InfoContext(context.Background(), "said") }), "allocations")
}

func TestHandlerIsAHandler(t *testing.T) {
	var b bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler { b.Reset(); return handlerTo(&b) }, func(t *testing.T) map[string]any { return line(t, &b) })
}

func TestMessage(t *testing.T) {
	e, err := event.New("T", "/test", "payload-text")
	require.NoError(t, err)
	e.CorrelationID = "e-1"
	encoded, err := event.Structured{}.Encode(e)
	require.NoError(t, err)
	for m, want := range map[*message.Message]string{
		encoded: fmt.Sprintf("[event_id=%s correlation_id=e-1]", e.ID),
		message.NewMessage("u-1", []byte("payload-text")): "[event_id=u-1 correlation_id=u-1]",
	} {
		assert.Equal(t, want, eventlog.Message(m).Value.String())
	}
}
