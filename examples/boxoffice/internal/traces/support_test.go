package traces

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// exporterFunc is an exporter that does nothing but fail, or not.
type exporterFunc func() error

func (f exporterFunc) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return f() }
func (exporterFunc) Shutdown(context.Context) error                               { return nil }

func otelFail(s trace.Span) {
	s.SetStatus(codes.Error, "")
	s.SetAttributes(attribute.String("error.type", "infrastructure"))
}
