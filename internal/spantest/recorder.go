// Package spantest records the spans that the library makes, for its tests. It needs only the
// API of OpenTelemetry, so that no user has the SDK in the module graph.
//
//	spans := new(spantest.Recorder)
//	r, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{TracerProvider: spans})
//	…
//	spans.Ended()[0].Name()
//
// Each span is sampled. Only examples and bench of this tree use the SDK.
package spantest

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// Recorder is a provider of tracers that stores their spans. The zero value is ready.
type Recorder struct {
	embedded.TracerProvider

	mu    sync.Mutex // of its spans as well
	ended []*Span
}

// Tracer returns a tracer. All tracers of a recorder are the same.
func (r *Recorder) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{recorder: r} }

// Ended returns the spans that have ended, in the order of their ends.
func (r *Recorder) Ended() []*Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ended)
}

// Reset deletes the spans that have ended.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = nil
}

type tracer struct {
	embedded.Tracer
	recorder *Recorder
}

// Start begins a span below the span of the context.
func (t tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	cfg := trace.NewSpanStartConfig(opts...)
	parent := trace.SpanContextFromContext(ctx)
	if cfg.NewRoot() {
		parent = trace.SpanContext{}
	}
	s := &Span{recorder: t.recorder, name: name, kind: trace.ValidateSpanKind(cfg.SpanKind()), parent: parent, own: below(parent)}
	for _, l := range cfg.Links() {
		s.AddLink(l)
	}
	s.SetAttributes(cfg.Attributes()...)
	return trace.ContextWithSpan(ctx, s), s
}

// below returns the context of a new span.
func below(parent trace.SpanContext) trace.SpanContext {
	cfg := trace.SpanContextConfig{TraceID: parent.TraceID(), TraceState: parent.TraceState(), TraceFlags: trace.FlagsSampled}
	if !parent.IsValid() {
		binary.BigEndian.PutUint64(cfg.TraceID[:8], rand.Uint64())
		binary.BigEndian.PutUint64(cfg.TraceID[8:], rand.Uint64()|1) // zero is no id
	}
	binary.BigEndian.PutUint64(cfg.SpanID[:], rand.Uint64()|1)
	return trace.NewSpanContext(cfg)
}
