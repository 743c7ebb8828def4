package otelmsg

import (
	"encoding/hex"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/event"
)

// Headers of the W3C trace context. A message that is no event, or an event
// without a context of its own, carries them as metadata.
const (
	TraceParent = "traceparent"
	TraceState  = "tracestate"
)

const parentSize = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

// flags are those of version 00: sampled and random.
const flags = 0x03

// Format writes a context as the two headers; both are empty when it is not valid.
func Format(sc trace.SpanContext) (parent, state string) {
	if !sc.IsValid() {
		return "", ""
	}
	traceID, spanID := sc.TraceID(), sc.SpanID()
	var b [parentSize]byte
	copy(b[:], "00-")
	hex.Encode(b[3:35], traceID[:])
	b[35] = '-'
	hex.Encode(b[36:52], spanID[:])
	b[52] = '-'
	hex.Encode(b[53:], []byte{byte(sc.TraceFlags()) & flags})
	return string(b[:]), sc.TraceState().String()
}

// Parse reads the two headers. What is not valid gives a context that is not
// valid; a state that is not, none.
func Parse(parent, state string) trace.SpanContext {
	if len(parent) < parentSize || parent[2] != '-' || parent[35] != '-' || parent[52] != '-' {
		return trace.SpanContext{}
	}
	var version, options [1]byte
	if !unhex(version[:], parent[:2]) || !unhex(options[:], parent[53:55]) || version[0] == 0xff {
		return trace.SpanContext{}
	}
	switch {
	case version[0] == 0 && (len(parent) != parentSize || options[0] > flags):
		return trace.SpanContext{}
	case len(parent) > parentSize && parent[parentSize] != '-':
		return trace.SpanContext{}
	}
	cfg := trace.SpanContextConfig{TraceFlags: trace.TraceFlags(options[0] & flags), Remote: true}
	if !unhex(cfg.TraceID[:], parent[3:35]) || !unhex(cfg.SpanID[:], parent[36:52]) {
		return trace.SpanContext{}
	}
	if state != "" {
		cfg.TraceState, _ = trace.ParseTraceState(state) // without, when it is broken
	}
	sc := trace.NewSpanContext(cfg)
	if !sc.IsValid() {
		return trace.SpanContext{}
	}
	return sc
}

// unhex decodes lower-case hexadecimal digits.
func unhex(into []byte, s string) bool {
	if strings.ToLower(s) != s {
		return false
	}
	n, err := hex.Decode(into, []byte(s))
	return err == nil && n == len(into)
}

// FromEvent is the context in which an event was made.
func FromEvent(e event.Event) trace.SpanContext { return Parse(e.TraceParent, e.TraceState) }

// FromMessage is the context of a message: that of the event it carries, else
// that of its headers. It returns the event, too, and whether there is one.
func FromMessage(m *message.Message) (sc trace.SpanContext, e event.Event, ok bool) {
	e, err := event.Decode(m)
	if err == nil {
		sc = FromEvent(e)
	}
	if !sc.IsValid() {
		sc = Parse(m.Metadata[TraceParent], m.Metadata[TraceState])
	}
	return sc, e, err == nil
}

// Inject puts a context into the headers of a message that has none.
func Inject(m *message.Message, sc trace.SpanContext) {
	parent, state := Format(sc)
	if parent == "" || m.Metadata[TraceParent] != "" {
		return
	}
	if m.Metadata == nil {
		m.Metadata = message.Metadata{}
	}
	m.Metadata[TraceParent] = parent
	if state != "" {
		m.Metadata[TraceState] = state
	}
}

// Pack writes a context into one text of at most most bytes: without its state
// where that is too long, and not at all where it does not fit.
func Pack(sc trace.SpanContext, most int) string {
	parent, state := Format(sc)
	switch {
	case parent == "" || len(parent) > most:
		return ""
	case state == "" || len(parent)+1+len(state) > most:
		return parent
	}
	return parent + " " + state
}

// Unpack reads what Pack wrote.
func Unpack(text string) trace.SpanContext {
	parent, state, _ := strings.Cut(text, " ")
	return Parse(parent, state)
}
