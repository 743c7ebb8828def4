package spantest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/internal/spantest"
)

// A recorder stores the calls on spans until they end, as an SDK does.
func TestRecorder(t *testing.T) {
	spans := new(spantest.Recorder)
	tracer := spans.Tracer("test")
	ctx, parent := tracer.Start(context.Background(), "parent")
	_, child := tracer.Start(ctx, "child", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.Int("n", 1)))
	_, root := tracer.Start(ctx, "root", trace.WithNewRoot(), trace.WithLinks(trace.LinkFromContext(ctx)))
	child.SetAttributes(attribute.String("of", "child"), attribute.Int("n", 2))
	child.RecordError(errors.New("no"))
	child.SetStatus(codes.Error, "why")
	child.SetStatus(codes.Unset, "")
	child.End()
	child.SetName("late")
	child.AddEvent("late")
	child.End()
	root.SetStatus(codes.Ok, "is dropped")
	root.SetStatus(codes.Error, "too late")
	root.End()

	ended := spans.Ended()
	if len(ended) != 2 || !parent.IsRecording() || child.IsRecording() {
		t.Fatalf("%d spans have ended", len(ended))
	}
	c, r := ended[0], ended[1]
	if c.Name() != "child" || c.SpanKind() != trace.SpanKindClient || c.Status() != (spantest.Status{Code: codes.Error, Description: "why"}) ||
		!slices.Equal(c.Attributes(), []attribute.KeyValue{attribute.String("of", "child"), attribute.Int("n", 2)}) ||
		len(c.Events()) != 1 || c.Events()[0].Name != "exception" {
		t.Errorf("%q %v %v %v %v", c.Name(), c.SpanKind(), c.Status(), c.Attributes(), c.Events())
	}
	if !c.Parent().Equal(parent.SpanContext()) || c.SpanContext().TraceID() != parent.SpanContext().TraceID() || c.SpanContext().SpanID() == parent.SpanContext().SpanID() {
		t.Errorf("the child is %v under %v", c.SpanContext(), c.Parent())
	}
	if r.Parent().IsValid() || !r.SpanContext().IsValid() || !r.SpanContext().IsSampled() || r.SpanContext().TraceID() == parent.SpanContext().TraceID() {
		t.Errorf("the root is %v under %v", r.SpanContext(), r.Parent())
	}
	if r.SpanKind() != trace.SpanKindInternal || r.Status() != (spantest.Status{Code: codes.Ok}) || len(r.Links()) != 1 || !r.Links()[0].SpanContext.Equal(parent.SpanContext()) {
		t.Errorf("%v %v %v", r.SpanKind(), r.Status(), r.Links())
	}
	spans.Reset()
	parent.End()
	if left := spans.Ended(); len(left) != 1 || left[0].Name() != "parent" {
		t.Errorf("%d spans after a reset", len(left))
	}
}
