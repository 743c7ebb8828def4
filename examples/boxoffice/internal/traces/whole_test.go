package traces

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// span makes the n-th span of a trace; the second trace has the spans of the relay.
func span(of, n, parent byte, name string, kind trace.SpanKind, links ...ID) Span {
	s := Span{ID: id(of, n), Name: name, Kind: kind, Links: links, From: "office", Start: start.Add(time.Duration(n) * time.Millisecond), End: start.Add(time.Duration(n+1) * time.Millisecond)}
	if parent > 0 {
		s.Parent = trace.SpanID{parent}
	}
	return s
}

func id(of, n byte) ID { return ID{trace.TraceID{of}, trace.SpanID{n}} }

func wholeTrace() []Span {
	return []Span{
		span(1, 6, 4, "deliver notification", trace.SpanKindConsumer),
		span(1, 4, 2, "process domain_events", trace.SpanKindConsumer),
		span(1, 5, 2, "process domain_events", trace.SpanKindConsumer),
		span(2, 3, 0, "send domain_events", trace.SpanKindClient, id(9, 9), id(1, 2)),
		span(1, 2, 1, "create domain_events", trace.SpanKindProducer),
		span(1, 1, 7, "POST /api/members/{id}/follow", trace.SpanKindServer), // of a client that tells nothing
		span(3, 1, 0, "GET /", trace.SpanKindServer),
	}
}

func TestWhole(t *testing.T) {
	assert.NoError(t, Whole(wholeTrace(), trace.TraceID{1}))
	for name, c := range map[string]struct {
		change func([]Span) []Span
		want   string
	}{
		"nothing":                  {func([]Span) []Span { return nil }, "no span"},
		"no request":               {func(s []Span) []Span { return slices.Delete(s, 5, 6) }, "not with a request"},
		"no create":                {func(s []Span) []Span { return slices.Delete(s, 4, 5) }, "is missing"},
		"no send":                  {func(s []Span) []Span { return slices.Delete(s, 3, 4) }, "no send links"},
		"no link":                  {func(s []Span) []Span { s[3].Links = s[3].Links[:1]; return s }, "no send links"},
		"other topic":              {func(s []Span) []Span { s[3].Name = "send payment.events"; return s }, "no send links"},
		"no process":               {func(s []Span) []Span { return slices.Delete(s, 0, 3) }, "no consumer"},
		"no delivery":              {func(s []Span) []Span { return s[1:] }, "nothing was delivered"},
		"a delivery of its own":    {func(s []Span) []Span { s[0].Parent = trace.SpanID{1}; return s }, "nothing was delivered"},
		"an orphan":                {func(s []Span) []Span { return append(s, span(1, 8, 77, "process x", trace.SpanKindConsumer)) }, `parent of "process x" is missing`},
		"a consumer under nothing": {func(s []Span) []Span { s[1].Parent = trace.SpanID{}; return s }, "is missing"},
	} {
		if err := Whole(c.change(wholeTrace()), trace.TraceID{1}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestRender(t *testing.T) {
	got := Render(Tree(wholeTrace(), trace.TraceID{1}))
	if strings.Count(got, "\n") != 6 || !strings.Contains(got, "at   0.0 ms  took   1.0 ms  office\n") {
		t.Fatalf("\n%s", got)
	}
	for i, line := range []string{"POST ", "└─ create ", "   ├─ send domain_events (linked) ", "   ├─ process ", "   │  └─ deliver notification ", "   └─ process "} {
		assert.Truef(t, strings.HasPrefix(strings.Split(got, "\n")[i], line), "line %d is not %q:\n%s", i, line, got)
	}
	columns := map[int]bool{}
	for _, line := range strings.Split(strings.TrimSpace(got), "\n") {
		columns[len([]rune(line[:strings.Index(line, "  at ")]))] = true
	}
	if len(columns) != 1 || Render(nil) != "" {
		t.Errorf("the columns are not aligned:\n%s", got)
	}
}
