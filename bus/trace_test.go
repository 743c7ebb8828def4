package bus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/spantest"
)

const foreign = "00-11111111111111111111111111111111-2222222222222222-01"

// tracedMessage is an event as a message.
func tracedMessage(t *testing.T, typ, traceparent string) *message.Message {
	t.Helper()
	e, err := event.New(typ, "/test", "payload-text")
	require.NoError(t, err)
	e.AggregateID, e.CorrelationID, e.TraceParent = typ, "request-1", traceparent
	m, err := event.Structured{}.Encode(e)
	require.NoError(t, err)
	return m
}

func attributes(s *spantest.Span) (all []string) {
	for _, a := range s.Attributes() {
		all = append(all, string(a.Key)+"="+a.Value.String())
	}
	slices.Sort(all)
	return all
}

// has requires some of the attributes.
func has(t *testing.T, s *spantest.Span, want ...string) {
	t.Helper()
	got := attributes(s)
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s has no %s: %v", s.Name(), w, got)
		}
	}
}

func headerOf(sc trace.SpanContext) string {
	return fmt.Sprintf("00-%s-%s-%s", sc.TraceID(), sc.SpanID(), sc.TraceFlags())
}

// settled waits until the group has acknowledged all messages.
func settled(t *testing.T, b *bus.Bus, topic, group string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for lag(t, b, topic, group) > 0 {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			t.Fatal("the messages were not acknowledged")
		}
	}
}

func TestADeliveryIsAChildOfItsMessage(t *testing.T) {
	b := memBus(t)
	spans := new(spantest.Recorder)
	inside := make(chan trace.SpanContext, 1)
	r := start(t, b, bus.RunnerConfig{TracerProvider: spans}, bus.Consumer{Topic: "t", Group: "g", Handler: bus.Handle(func(ctx context.Context, _ event.Event) error {
		inside <- trace.SpanContextFromContext(ctx)
		return nil
	})})
	m := tracedMessage(t, "T", foreign)
	publish(t, b, "t", m)
	handler := <-inside
	settled(t, b, "t", "g")
	r.stop(t)
	ended := spans.Ended()
	require.Len(t, ended, 1, "spans")
	s := ended[0]
	if s.Name() != "process t" || s.SpanKind() != trace.SpanKindConsumer || headerOf(s.Parent()) != foreign || !s.Parent().IsRemote() || len(s.Links()) != 0 {
		t.Errorf("%s %v under %s, %v", s.Name(), s.SpanKind(), headerOf(s.Parent()), s.Links())
	}
	assert.True(t, handler.Equal(s.SpanContext()), "the handler has another span in its context")
	want := []string{
		"messaging.consumer.group.name=g", "messaging.destination.name=t", "messaging.message.conversation_id=request-1",
		"messaging.message.id=" + m.UUID, "messaging.operation.name=process", "messaging.operation.type=process",
		"messaging.system=mem", "millrace.delivery.attempt=1", "millrace.delivery.outcome=handled",
	}
	if got := attributes(s); !slices.Equal(got, want) || s.Status().Code != codes.Unset {
		t.Errorf("%v %v, want %v", s.Status(), got, want)
	}
}

// refused is an error with a reason in one word.
type refused struct{}

func (refused) Error() string         { return "payload-text is refused" }
func (refused) FailureReason() string { return "API_4XX" }

func TestEveryAttemptIsASpanAndADeadLetterKeepsItsTrace(t *testing.T) {
	b := memBus(t)
	spans := new(spantest.Recorder)
	run := 0
	r := start(t, b, bus.RunnerConfig{TracerProvider: spans}, bus.Consumer{
		Topic: "t", Group: "g", Retry: bus.FixedRetry(time.Millisecond, 3),
		Handler: bus.Handle(func(context.Context, event.Event) error {
			switch run++; run {
			case 1:
				return errors.New("payload-text timed out")
			case 2:
				panic("payload-text")
			}
			return fault.MarkPermanent(refused{})
		}),
	})
	m := tracedMessage(t, "T", foreign)
	publish(t, b, "t", m)
	settled(t, b, "t", "g")
	r.stop(t)

	var attempts []*spantest.Span
	var send *spantest.Span
	for _, s := range spans.Ended() {
		if s.Name() == "process t" {
			attempts = append(attempts, s)
		} else {
			send = s
		}
		if s.Status().Description != "" {
			t.Errorf("%s tells the error's text", s.Name())
		}
	}
	if len(attempts) != 3 || send == nil {
		t.Fatalf("%d attempts, %v", len(attempts), send)
	}
	for i, want := range [][]string{
		{"error.type=transient", "millrace.fault.class=transient", "millrace.delivery.outcome=retry", "millrace.delivery.delay=0.001"},
		{"error.type=panic", "millrace.fault.class=transient", "millrace.delivery.outcome=retry"},
		{"error.type=API_4XX", "millrace.fault.class=permanent", "millrace.delivery.outcome=dead_letter", "millrace.dead_letter.destination=t.DLT"},
	} {
		s := attempts[i]
		has(t, s, append(want, fmt.Sprint("millrace.delivery.attempt=", i+1))...)
		if headerOf(s.Parent()) != foreign || s.Status().Code != codes.Error {
			t.Errorf("attempt %d: %v under %s", i+1, s.Status(), headerOf(s.Parent()))
		}
	}
	if send.Name() != "send t.DLT" || send.Parent().SpanID() != attempts[2].SpanContext().SpanID() || headerOf(send.Links()[0].SpanContext) != foreign {
		t.Errorf("%s under %v, %v", send.Name(), send.Parent().SpanID(), send.Links())
	}
	letter := browse(t, b, "t.DLT")[0]
	if !bytes.Equal(letter.Payload, m.Payload) || letter.Metadata["traceparent"] != "" {
		t.Errorf("the dead letter is %s %v", letter.Payload, letter.Metadata)
	}
}

func TestADeadLetterWithoutATraceGetsOne(t *testing.T) {
	b := memBus(t)
	spans := new(spantest.Recorder)
	r := start(t, b, bus.RunnerConfig{TracerProvider: spans}, bus.Consumer{
		Topic: "t", Group: "g", Handler: bus.Handle(func(context.Context, event.Event) error { return nil }),
	})
	publish(t, b, "t", keyed("no event", 1))
	settled(t, b, "t", "g")
	r.stop(t)
	letter, attempt := browse(t, b, "t.DLT")[0], spans.Ended()[1]
	if attempt.Name() != "process t" || !strings.HasPrefix(letter.Metadata["traceparent"], "00-"+attempt.SpanContext().TraceID().String()) {
		t.Errorf("%s, and the letter has %v", attempt.Name(), letter.Metadata)
	}
}

func TestSpansTellPausesAndWhatIsObsolete(t *testing.T) {
	b := memBus(t)
	spans := new(spantest.Recorder)
	down := true
	r := start(t, b, bus.RunnerConfig{TracerProvider: spans}, bus.Consumer{
		Topic: "t", Group: "g", Retry: bus.RetryPolicy{Probe: bus.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Multiplier: 1}},
		Handler: bus.Handle(func(context.Context, event.Event) error {
			if down {
				down = false
				return fault.MarkInfrastructure(errors.New("the database is away"))
			}
			return nil
		}),
		Current: func(context.Context, string) (uint64, error) { return 5, nil },
	})
	publish(t, b, "t", tracedMessage(t, "T", foreign))
	settled(t, b, "t", "g")
	old, err := event.New("Old", "/test", nil)
	require.NoError(t, err)
	old.Sequence = 4
	m, err := event.Structured{}.Encode(old)
	require.NoError(t, err)
	publish(t, b, "t", m)
	settled(t, b, "t", "g")
	r.stop(t)
	ended := spans.Ended()
	require.Len(t, ended, 3, "spans")
	has(t, ended[0], "millrace.delivery.outcome=pause", "error.type=infrastructure", "millrace.delivery.attempt=1")
	has(t, ended[1], "millrace.delivery.outcome=handled", "millrace.delivery.attempt=2")
	has(t, ended[2], "millrace.delivery.outcome=obsolete")
	if ended[2].Parent().IsValid() || ended[2].Status().Code != codes.Unset {
		t.Errorf("%v %v", ended[2].Parent(), ended[2].Status())
	}
}

func TestABatchLinksToItsMessages(t *testing.T) {
	b := memBus(t)
	spans := new(spantest.Recorder)
	var inside, own trace.SpanContext
	r := start(t, b, bus.RunnerConfig{TracerProvider: spans}, bus.BatchConsumer{
		Topic: "t", Group: "g", Size: 3, Wait: time.Minute,
		Handler: func(ctx context.Context, messages []*message.Message) error {
			inside, own = trace.SpanContextFromContext(ctx), trace.SpanContextFromContext(messages[0].Context())
			failed := bus.BatchError{}
			for i, m := range messages {
				if m.Metadata[event.KeyHeader] == "B" {
					failed[i] = fault.MarkPermanent(refused{})
				}
			}
			return failed.OrNil()
		},
	})
	a, bad, plain := tracedMessage(t, "A", foreign), tracedMessage(t, "B", strings.ReplaceAll(foreign, "2", "3")), tracedMessage(t, "C", "")
	publish(t, b, "t", a, bad, plain)
	settled(t, b, "t", "g")
	r.stop(t)
	ended := spans.Ended()
	if len(ended) != 2 || ended[0].Name() != "send t.DLT" || ended[1].Name() != "process t" {
		t.Fatalf("%d spans", len(ended))
	}
	letter, s := ended[0], ended[1]
	if s.Parent().IsValid() || s.SpanKind() != trace.SpanKindConsumer || len(s.Links()) != 2 || s.Status().Code != codes.Error {
		t.Errorf("%v %v %v %v", s.Parent(), s.SpanKind(), s.Links(), s.Status())
	}
	for i, m := range []*message.Message{a, bad} {
		l := s.Links()[i]
		e, err := event.Decode(m)
		if err != nil || headerOf(l.SpanContext) != e.TraceParent || l.Attributes[0].Value.AsString() != m.UUID {
			t.Errorf("link %d: %s %v, %v", i, headerOf(l.SpanContext), l.Attributes, err)
		}
	}
	has(t, s, "messaging.batch.message_count=3", "messaging.consumer.group.name=g", "messaging.destination.name=t", "error.type=API_4XX")
	if !inside.Equal(s.SpanContext()) || !own.Equal(s.SpanContext()) {
		t.Error("the handler has another span in its context, or in its messages'")
	}
	if events := s.Events(); len(events) != 1 || fmt.Sprint(events[0].Attributes[0].Value.AsString(), events[0].Attributes[1].Value.AsString()) != bad.UUID+"dead_letter" {
		t.Errorf("%+v", events)
	}
	if letter.Parent().SpanID() != s.SpanContext().SpanID() {
		t.Error("the dead letter was sent under another span")
	}
}

func TestABatchThatWaitsForAnotherWorkerHasNotFailed(t *testing.T) {
	b := memBus(t)
	spans := new(spantest.Recorder)
	busy := true
	r := start(t, b, bus.RunnerConfig{TracerProvider: spans}, bus.BatchConsumer{
		Topic: "t", Group: "g", Wait: -1,
		Handler: func(context.Context, []*message.Message) error {
			if busy {
				busy = false
				return fault.MarkBusy(errors.New("taken"), time.Millisecond)
			}
			return nil
		},
	})
	publish(t, b, "t", keyed("k", 1))
	settled(t, b, "t", "g")
	r.stop(t)
	require.Len(t, spans.Ended(), 2, "spans")
	assert.Equal(t, codes.Unset, spans.Ended()[0].Status().Code)
}

func TestWithoutAProviderATraceGoesOn(t *testing.T) {
	b := memBus(t)
	got := make(chan trace.SpanContext, 2)
	r := start(t, b, bus.RunnerConfig{}, bus.Consumer{Topic: "t", Group: "g", Handler: bus.Handle(func(ctx context.Context, _ event.Event) error {
		got <- trace.SpanContextFromContext(ctx)
		return nil
	})})
	publish(t, b, "t", tracedMessage(t, "T", foreign))
	assert.Equal(t, foreign, headerOf(<-got), "the handler")
	publish(t, b, "t", tracedMessage(t, "T", ""))
	if sc := <-got; sc.IsValid() {
		t.Errorf("the handler has %s of a message without", headerOf(sc))
	}
	r.stop(t)
}

// collecting keeps the published messages.
type collecting struct {
	messages []*message.Message
	err      error
}

func (p *collecting) Publish(_ string, messages ...*message.Message) error {
	p.messages = append(p.messages, messages...)
	return p.err
}
func (*collecting) Close() error { return nil }

func TestATracedPublisherInjectsAndOverwritesNothing(t *testing.T) {
	spans := new(spantest.Recorder)
	next := &collecting{}
	p, err := bus.NewTracedPublisher(next, spans, "kafka")
	require.NoError(t, err)
	ctx, request := spans.Tracer("test").Start(t.Context(), "request")
	another, _ := spans.Tracer("test").Start(t.Context(), "another")
	plain, with, apart := tracedMessage(t, "A", ""), tracedMessage(t, "B", foreign), tracedMessage(t, "C", "")
	plain.SetContext(ctx)
	apart.SetContext(another)
	require.NoError(t, p.Publish("t", plain, with, apart))
	require.NoError(t, p.Publish("t", with))
	next.err = fault.MarkInfrastructure(errors.New("away"))
	require.ErrorIs(t, p.Publish("t", with), next.err)
	ended := spans.Ended()
	s := ended[0]
	has(t, s, "messaging.system=kafka", "messaging.batch.message_count=3", "messaging.operation.type=send")
	if s.SpanKind() != trace.SpanKindProducer || s.Parent().SpanID() != request.SpanContext().SpanID() || len(s.Links()) != 2 {
		t.Errorf("%v %v %v", s.SpanKind(), s.Parent(), s.Links())
	}
	if plain.Metadata["traceparent"] != headerOf(s.SpanContext()) || with.Metadata["traceparent"] != "" ||
		apart.Metadata["traceparent"] != headerOf(trace.SpanContextFromContext(another)) {
		t.Errorf("%v, %v, %v", plain.Metadata, with.Metadata, apart.Metadata)
	}
	if ended[1].SpanKind() != trace.SpanKindClient || headerOf(ended[1].Links()[0].SpanContext) != foreign {
		t.Errorf("%v %v", ended[1].SpanKind(), ended[1].Links())
	}
	has(t, ended[1], "messaging.message.id="+with.UUID)
	has(t, ended[2], "error.type=infrastructure")

	quiet, err := bus.NewTracedPublisher(&collecting{}, nil, "")
	require.NoError(t, err)
	carried := tracedMessage(t, "D", "")
	carried.SetContext(ctx)
	if err := quiet.Publish("t", carried, with); err != nil || carried.Metadata["traceparent"] != headerOf(request.SpanContext()) || with.Metadata["traceparent"] != "" {
		t.Errorf("%v, %v, %v", err, carried.Metadata, with.Metadata)
	}
	if _, err := bus.NewTracedPublisher(nil, nil, ""); err == nil {
		t.Error("a publisher before nothing")
	}
}

// lines are the log lines of all loggers, in JSON. They can be read while they are written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) all(t *testing.T) (all []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range strings.Split(strings.TrimSpace(l.b.String()), "\n") {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		all = append(all, m)
	}
	return all
}

func TestLogLinesAboutAnEventHaveItsIDs(t *testing.T) {
	for _, ids := range []bool{false, true} { // of the lines themselves, and of the context
		b := memBus(t)
		out := &lines{}
		var handler slog.Handler = slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn})
		if ids {
			handler = eventlog.NewHandler(handler)
		}
		log := slog.New(handler)
		down := 2
		r := start(t, b, bus.RunnerConfig{TracerProvider: new(spantest.Recorder), Logger: log}, bus.Consumer{
			Topic: "t", Group: "g", Retry: bus.RetryPolicy{MaxRetries: 1, Backoff: exact, Probe: bus.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Multiplier: 1}},
			Handler: bus.Handle(func(ctx context.Context, _ event.Event) error {
				if down--; down >= 0 {
					return fault.MarkInfrastructure(errors.New("away"))
				}
				log.WarnContext(ctx, "of the handler")
				return fault.MarkPermanent(errors.New("refused"))
			}),
		})
		m := tracedMessage(t, "T", foreign)
		publish(t, b, "t", m)
		settled(t, b, "t", "g")
		r.stop(t)
		about := 0
		for _, line := range out.all(t) {
			switch line["msg"] {
			case "consumer paused, a dependency is down":
				continue
			case "of the handler":
				if !ids {
					continue
				}
			}
			about++
			if line["event_id"] != m.UUID || line["correlation_id"] != "request-1" {
				t.Errorf("%v", line)
			}
			if ids && line["msg"] != "consumer stays paused" && (line["trace_id"] != strings.Repeat("1", 32) || line["span_id"] == nil) {
				t.Errorf("%v", line)
			}
		}
		if want := map[bool]int{false: 2, true: 3}[ids]; about != want {
			t.Errorf("%d lines about the event, want %d: %v", about, want, out.all(t))
		}
	}
}
