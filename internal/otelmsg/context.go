package otelmsg

import (
	"encoding/hex"
	"strings"

	"go.opentelemetry.io/otel/trace"
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

// Parse reads the two headers. For invalid headers it returns an invalid context; an invalid
// state is left out.
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
		cfg.TraceState, _ = trace.ParseTraceState(state) // without it, if it is broken
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

// Pack writes a context into one text of up to most bytes: without its state if that is too
// long, and "" if it does not fit.
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

// Unpack reads the output of Pack.
func Unpack(text string) trace.SpanContext {
	parent, state, _ := strings.Cut(text, " ")
	return Parse(parent, state)
}
