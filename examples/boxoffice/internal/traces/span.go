package traces

import (
	"cmp"
	"slices"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
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

// Of converts spans of the SDK, such as those of an exporter in memory.
func Of(spans []sdktrace.ReadOnlySpan) []Span {
	all := make([]Span, 0, len(spans))
	for _, s := range spans {
		made := Span{
			ID: ID{s.SpanContext().TraceID(), s.SpanContext().SpanID()}, Parent: s.Parent().SpanID(), Remote: s.Parent().IsRemote(),
			Name: s.Name(), Kind: s.SpanKind(), Start: s.StartTime(), End: s.EndTime(),
			Failed: s.Status().Code.String() == "Error", Attrs: map[string]string{},
		}
		for _, l := range s.Links() {
			made.Links = append(made.Links, ID{l.SpanContext.TraceID(), l.SpanContext.SpanID()})
		}
		for _, a := range s.Attributes() {
			made.Attrs[string(a.Key)] = a.Value.String()
		}
		about := map[string]string{}
		for _, a := range s.Resource().Attributes() {
			about[string(a.Key)] = a.Value.String()
		}
		made.From = about["service.name"]
		all = append(all, made)
	}
	return all
}

// byStart sorts spans by their start; spans with the same start by their end, the
// longest first.
func byStart(spans []Span) {
	slices.SortStableFunc(spans, func(a, b Span) int {
		return cmp.Or(a.Start.Compare(b.Start), b.End.Compare(a.End))
	})
}
