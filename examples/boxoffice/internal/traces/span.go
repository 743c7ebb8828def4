package traces

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// ID names a span.
type ID struct {
	Trace trace.TraceID
	Span  trace.SpanID
}

// Span is a span that has ended, wherever it was made.
type Span struct {
	ID     ID
	Parent trace.SpanID // invalid for the first of a trace
	Remote bool         // its parent is known to be of another process
	Links  []ID
	Name   string
	Kind   trace.SpanKind
	From   string // the service that made it
	Start  time.Time
	End    time.Time
	Failed bool
	Attrs  map[string]string
}

// byStart sorts spans by their start; spans with the same start by their end, the
// longest first.
func byStart(spans []Span) {
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(a.Start.Compare(b.Start), b.End.Compare(a.End))
	})
}
