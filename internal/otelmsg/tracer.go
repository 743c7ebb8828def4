package otelmsg

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// scope is the prefix of the tracer's name of a package.
const scope = "github.com/millrace-go/millrace/"

// Tracer makes the spans of a package. Do not call methods of a nil Tracer.
type Tracer struct {
	tracer trace.Tracer
	system attribute.KeyValue
}

// New makes a Tracer for a package and a messaging.system, or nil when there is
// no provider.
func New(p trace.TracerProvider, pkg, system string) *Tracer {
	if p == nil {
		return nil
	}
	return &Tracer{p.Tracer(scope + pkg), System.String(system)}
}

// Start starts a span of an operation on a destination.
func (t *Tracer) Start(ctx context.Context, kind trace.SpanKind, operation, destination string, links []trace.Link, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	all := make([]attribute.KeyValue, 0, 8+len(attrs))
	all = append(all, t.system, OperationName.String(operation), OperationType.String(typeOf(operation)))
	if destination != "" {
		all = append(all, Destination.String(destination))
	}
	all = append(all, attrs...)
	name := operation
	if destination != "" {
		name += " " + destination
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithLinks(links...), trace.WithAttributes(all...))
}

// typeOf returns the operation's type. The conventions have none for delivery to a browser; from
// the broker's side it is processing.
func typeOf(operation string) string {
	if operation == Deliver {
		return Process
	}
	return operation
}

// Link links to the context of a message; ok is false if there is none.
func Link(sc trace.SpanContext, messageID string) (link trace.Link, ok bool) {
	if !sc.IsValid() {
		return trace.Link{}, false
	}
	return trace.Link{SpanContext: sc, Attributes: []attribute.KeyValue{MessageID.String(messageID)}}, true
}

// Fail marks a span as failed. Its second argument is one word for the reason, from a small set.
func Fail(span trace.Span, what string) {
	span.SetStatus(codes.Error, "")
	span.SetAttributes(ErrorType.String(what))
}

// From returns the context of ctx's span.
func From(ctx context.Context) trace.SpanContext { return trace.SpanContextFromContext(ctx) }

// Under returns ctx with sc as the parent of new spans.
func Under(ctx context.Context, sc trace.SpanContext) context.Context {
	if !sc.IsValid() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}
