package spantest

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// Status is the result of a span's work.
type Status struct {
	Code        codes.Code
	Description string // of an error
}

// Event is an event during a span.
type Event struct {
	Name       string
	Attributes []attribute.KeyValue
}

// Span stores its calls until it ends. Its methods without an argument read.
type Span struct {
	embedded.Span
	recorder    *Recorder
	own, parent trace.SpanContext
	kind        trace.SpanKind

	// guarded by the recorder's mutex
	over       bool
	name       string
	status     Status
	attributes []attribute.KeyValue
	events     []Event
	links      []trace.Link
}

// change changes a span that has not ended.
func (s *Span) change(how func()) {
	s.recorder.mu.Lock()
	defer s.recorder.mu.Unlock()
	if !s.over {
		how()
	}
}

// End ends the span and records it.
func (s *Span) End(...trace.SpanEndOption) {
	s.change(func() {
		s.over = true
		s.recorder.ended = append(s.recorder.ended, s)
	})
}

// SetName gives the span another name.
func (s *Span) SetName(name string) { s.change(func() { s.name = name }) }

// SetStatus sets the status. An error is not reset by codes.Unset, and codes.Ok is never reset.
func (s *Span) SetStatus(code codes.Code, description string) {
	if code != codes.Error {
		description = ""
	}
	s.change(func() {
		if code >= s.status.Code {
			s.status = Status{code, description}
		}
	})
}

// SetAttributes adds attributes, or replaces them.
func (s *Span) SetAttributes(all ...attribute.KeyValue) {
	s.change(func() {
		for _, a := range all {
			s.attributes = slices.DeleteFunc(s.attributes, func(old attribute.KeyValue) bool { return old.Key == a.Key })
			s.attributes = append(s.attributes, a)
		}
	})
}

// AddLink links to another span.
func (s *Span) AddLink(l trace.Link) { s.change(func() { s.links = append(s.links, l) }) }

// AddEvent adds an event.
func (s *Span) AddEvent(name string, opts ...trace.EventOption) {
	cfg := trace.NewEventConfig(opts...)
	s.change(func() { s.events = append(s.events, Event{name, cfg.Attributes()}) })
}

// RecordError adds an event of the error.
func (s *Span) RecordError(err error, opts ...trace.EventOption) {
	if err == nil {
		return
	}
	s.AddEvent("exception", append(opts, trace.WithAttributes(
		attribute.String("exception.type", fmt.Sprintf("%T", err)), attribute.String("exception.message", err.Error())))...)
}

// IsRecording reports whether the span has not ended.
func (s *Span) IsRecording() (recording bool) {
	s.change(func() { recording = true })
	return recording
}

// TracerProvider returns the recorder.
func (s *Span) TracerProvider() trace.TracerProvider { return s.recorder }

// SpanContext is the span's identity.
func (s *Span) SpanContext() trace.SpanContext { return s.own }

// Parent returns the parent span; invalid if there is none.
func (s *Span) Parent() trace.SpanContext { return s.parent }

// SpanKind is the span's role.
func (s *Span) SpanKind() trace.SpanKind { return s.kind }

// Name is the name of a span that has ended.
func (s *Span) Name() string { return s.name }

// Status returns the status of a span that has ended.
func (s *Span) Status() Status { return s.status }

// Attributes returns the attributes of a span that has ended.
func (s *Span) Attributes() []attribute.KeyValue { return s.attributes }

// Events returns the events of a span that has ended.
func (s *Span) Events() []Event { return s.events }

// Links returns the links of a span that has ended.
func (s *Span) Links() []trace.Link { return s.links }
