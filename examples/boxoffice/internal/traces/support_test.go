package traces

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// exporterFunc is an exporter that only fails or waits, or succeeds.
type exporterFunc func(context.Context) error

func (f exporterFunc) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	return f(ctx)
}
func (exporterFunc) Shutdown(context.Context) error { return nil }

func otelFail(s trace.Span) {
	s.SetStatus(codes.Error, "")
	s.SetAttributes(attribute.String("error.type", "infrastructure"))
}
