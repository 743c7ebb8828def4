package traces

import (
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Sampler keeps a part of the traces: a span with a parent is kept when its parent
// is, and a span without a parent that links to others, as a relay's and a batch's
// do, when one of these is. Otherwise the decision is random.
func Sampler(ratio float64) sdktrace.Sampler {
	return sdktrace.ParentBased(byLinks{sdktrace.TraceIDRatioBased(ratio)})
}

type byLinks struct{ chance sdktrace.Sampler }

// ShouldSample implements [sdktrace.Sampler].
func (s byLinks) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if len(p.Links) == 0 {
		return s.chance.ShouldSample(p)
	}
	result := sdktrace.SamplingResult{Decision: sdktrace.Drop, Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState()}
	for _, l := range p.Links {
		if l.SpanContext.IsSampled() {
			result.Decision = sdktrace.RecordAndSample
		}
	}
	return result
}

// Description implements [sdktrace.Sampler].
func (s byLinks) Description() string { return fmt.Sprintf("ByLinks{%s}", s.chance.Description()) }
