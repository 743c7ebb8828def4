package sse

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/internal/otelmsg"
	"github.com/millrace-go/millrace/sse/driver"
)

// Any text in the field is read as a context, a time, both or neither, and a
// written field is read back unchanged.
func FuzzOrigin(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 @1700000000000")
	f.Add(" @1700000000000")
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 a=b @x")
	f.Add("@ @-1")
	f.Fuzz(func(t *testing.T, origin string) {
		sc, at := readOrigin(origin)
		again := originOf(trace.ContextWithSpanContext(context.Background(), sc), at)
		if len(again) > driver.MaxMember {
			t.Fatalf("%q takes %d bytes", again, len(again))
		}
		sc2, at2 := readOrigin(again)
		if sc.TraceID() != sc2.TraceID() || sc.SpanID() != sc2.SpanID() {
			t.Fatalf("%q comes back as %q", origin, again)
		}
		if in := at.UnixMilli(); !at.IsZero() && in < 1e14 && !at.Equal(at2) {
			t.Fatalf("%v comes back as %v", at, at2)
		}
	})
}

// An instance of a release without times reads the context all the same.
func TestTimesDoNotHideTheContext(t *testing.T) {
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Remote: true})
	origin := originOf(trace.ContextWithSpanContext(context.Background(), sc), time.Now())
	if got := otelmsg.Unpack(origin); got.TraceID() != sc.TraceID() || got.SpanID() != sc.SpanID() {
		t.Errorf("%q is read as %v", origin, got)
	}
}
