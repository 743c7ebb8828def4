package eventlog

import (
	"context"
	"log/slog"
	"slices"
)

// handler adds the ids of the event in the context to each record.
type handler struct {
	next   slog.Handler
	top    slog.Handler // next without any open group
	steps  []step       // from top to next
	stands []string     // ids that every line has already
}

// step is a WithGroup, or a WithAttrs after one.
type step struct {
	group string
	attrs []slog.Attr
}

// NewHandler returns a handler in front of next, which must not be nil. It adds the ids of the event
// in the context to each record.
func NewHandler(next slog.Handler) slog.Handler { return &handler{next: next, top: next} }

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	add := ids(ctx)
	if len(add) == 0 {
		return h.next.Handle(ctx, r)
	}
	said := h.stands
	if len(h.steps) == 0 {
		said = slices.Clip(said)
		r.Attrs(func(a slog.Attr) bool { said = names(said, a); return true })
	}
	add = slices.DeleteFunc(add, func(a slog.Attr) bool { return slices.Contains(said, a.Key) })
	if len(h.steps) == 0 {
		r = r.Clone()
		r.AddAttrs(add...)
		return h.next.Handle(ctx, r)
	}
	next := h.top.WithAttrs(add)
	for _, s := range h.steps {
		if s.group != "" {
			next = next.WithGroup(s.group)
		} else {
			next = next.WithAttrs(s.attrs)
		}
	}
	return next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	made := *h
	made.next = h.next.WithAttrs(attrs)
	if len(h.steps) > 0 {
		made.steps = append(slices.Clip(h.steps), step{attrs: attrs})
		return &made
	}
	made.top = made.next
	made.stands = slices.Clip(h.stands)
	for _, a := range attrs {
		made.stands = names(made.stands, a)
	}
	return &made
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	made := *h
	made.next = h.next.WithGroup(name)
	made.steps = append(slices.Clip(h.steps), step{group: name})
	return &made
}

// names appends the names of the ids that an attribute holds.
func names(to []string, a slog.Attr) []string {
	switch a.Key {
	case eventID, correlationID, traceID, spanID:
		return append(to, a.Key)
	case "": // of an inlined group
		if v := a.Value.Resolve(); v.Kind() == slog.KindGroup {
			for _, a := range v.Group() {
				to = names(to, a)
			}
		}
	}
	return to
}
