package traces

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logged collects the log of any goroutine.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func opened(t *testing.T, url string, cfg Config) *Traces {
	t.Helper()
	cfg.Service = "boxoffice"
	traces, err := Open(url, cfg)
	require.NoError(t, err)
	return traces
}

func TestSpansArrive(t *testing.T) {
	collector := NewCollector(100)
	server := httptest.NewServer(collector)
	defer server.Close()
	traces := opened(t, server.URL, Config{Instance: "worker-1", Version: "v1", Delay: time.Hour, Timeout: time.Minute})
	tracer := traces.Provider().Tracer("test")
	ctx, first := tracer.Start(t.Context(), "GET /", trace.WithSpanKind(trace.SpanKindServer))
	_, second := tracer.Start(ctx, "create t", trace.WithSpanKind(trace.SpanKindProducer))
	second.End()
	first.End()
	_, linked := tracer.Start(t.Context(), "send t", trace.WithSpanKind(trace.SpanKindClient), trace.WithLinks(trace.Link{SpanContext: second.SpanContext()}))
	otelFail(linked)
	linked.End()
	more := collector.More()
	traces.Close() // long before its delay
	<-more
	spans, dropped := collector.Spans()
	if len(spans) != 3 || dropped != 0 {
		t.Fatalf("%d spans, %d dropped", len(spans), dropped)
	}
	byStart(spans)
	of := func(s trace.Span) ID { return ID{s.SpanContext().TraceID(), s.SpanContext().SpanID()} }
	for i, want := range []Span{
		{ID: of(first), Name: "GET /", Kind: trace.SpanKindServer},
		{ID: of(second), Name: "create t", Kind: trace.SpanKindProducer, Parent: of(first).Span},
		{ID: of(linked), Name: "send t", Kind: trace.SpanKindClient, Links: []ID{of(second)}, Failed: true},
	} {
		got := spans[i]
		if got.ID != want.ID || got.Name != want.Name || got.Kind != want.Kind || got.Parent != want.Parent || got.Failed != want.Failed ||
			got.From != "boxoffice" || len(got.Links) != len(want.Links) || got.End.Before(got.Start) || time.Since(got.Start) > time.Minute {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if spans[2].Links[0] != of(second) || spans[2].Attrs["error.type"] != "infrastructure" {
		t.Errorf("%+v", spans[2])
	}
}

func TestCollectorIsBounded(t *testing.T) {
	collector := NewCollector(2)
	collector.keep(make([]Span, 3))
	collector.keep(make([]Span, 2))
	if spans, dropped := collector.Spans(); len(spans) != 2 || dropped != 3 {
		t.Errorf("%d spans, %d dropped", len(spans), dropped)
	}
	for _, body := range []string{"nonsense", strings.Repeat("x", maxRequest+1)} {
		w := httptest.NewRecorder()
		collector.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%d bytes are answered %d", len(body), w.Code)
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("nonsense"))
	r.Header.Set("Content-Encoding", "gzip")
	if collector.ServeHTTP(w, r); w.Code != http.StatusBadRequest {
		t.Errorf("no gzip is answered %d", w.Code)
	}
}

// manySpans makes spans, and returns the longest duration of one.
func manySpans(t *testing.T, traces *Traces, n int) (longest time.Duration) {
	t.Helper()
	tracer := traces.Provider().Tracer("test")
	for range n {
		began := time.Now()
		_, s := tracer.Start(t.Context(), "s")
		s.End()
		longest = max(longest, time.Since(began))
	}
	return longest
}

func TestCollectorAway(t *testing.T) {
	var out logged
	traces := opened(t, "http://127.0.0.1:1", Config{Delay: time.Millisecond, Logger: out.logger()})
	for range 5 {
		manySpans(t, traces, 2*maxQueue)
	}
	traces.Close()
	if n := strings.Count(out.String(), "spans cannot be sent and are dropped"); n != 1 {
		t.Errorf("told %d times: %s", n, out.String())
	}
}

// hanging is a collector that never answers.
func hanging(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestCollectorThatHangs(t *testing.T) {
	var out logged
	synctest.Test(t, func(t *testing.T) {
		const timeout = 200 * time.Millisecond
		traces := open(exporterFunc(hanging), 1, Config{Service: "boxoffice", Timeout: timeout, Delay: time.Millisecond, Logger: out.logger()})
		if took := manySpans(t, traces, 3*maxQueue); took > 0 {
			t.Errorf("a span waited %v for the collector", took)
		}
		began := time.Now()
		traces.Close()
		if took := time.Since(began); took > timeout {
			t.Errorf("the end waited %v", took)
		}
	})
	assert.Contains(t, out.String(), "spans", "nobody was told")
}

// TestCloseLeavesNothingBehind has more batches waiting than a hanging collector
// accepts in the time of Close.
func TestCloseLeavesNothingBehind(t *testing.T) {
	var out logged
	var batches atomic.Int32
	synctest.Test(t, func(t *testing.T) { // it ends when nothing is left that would go on
		const timeout = time.Second
		traces := open(exporterFunc(func(ctx context.Context) error {
			batches.Add(1)
			return hanging(ctx)
		}), 1, Config{Service: "boxoffice", Timeout: timeout, Delay: time.Millisecond, Logger: out.logger()})
		manySpans(t, traces, maxQueue)
		began := time.Now()
		traces.Close()
		if took := time.Since(began); took != timeout || !strings.Contains(out.String(), "the last spans were not sent") {
			t.Errorf("ended after %s: %s", took, out.String())
		}
	})
	if n := batches.Load(); n < 1 || n > 2 {
		t.Errorf("%d batches were tried, want none after the end", n)
	}
}

func TestExportsTellOfTheReturn(t *testing.T) {
	var out logged
	away := true
	to := &exports{SpanExporter: exporterFunc(func(context.Context) error {
		if away {
			return os.ErrDeadlineExceeded
		}
		return nil
	}), log: out.logger(), wanted: t.Context()}
	for _, away = range []bool{true, true, false, false} {
		assert.NoError(t, to.ExportSpans(t.Context(), nil))
	}
	if s := out.String(); strings.Count(s, "dropped") != 1 || strings.Count(s, "again") != 1 {
		t.Error(s)
	}
}

func TestNilTraces(t *testing.T) {
	var none *Traces
	if none.Provider() != nil {
		t.Error("a provider of nothing")
	}
	none.Close()
}

func TestMistakes(t *testing.T) {
	for url, want := range map[string]string{
		"127.0.0.1:4318":                "malformed",
		"ftp://h":                       "http://",
		"http://":                       "http://",
		"http://u:hunter2@h":            "OTEL_EXPORTER_OTLP_HEADERS",
		"http://h?token=hunter2":        `"token"`,
		"http://h?ratio=2":              "ratio",
		"http://h?ratio=NaN":            "ratio",
		"http://h?ratio=1&ratio=0":      "ratio",
		"http://h?ratio=hunter2":        "ratio",
		"http://h?%zz":                  "parameters",
		"http://hunter2:hunter2@h/%zz%": "malformed",
	} {
		err := Check(url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q and no secret", url, err, want)
		}
	}
	if _, err := Open("http://h", Config{}); err == nil || !strings.Contains(err.Error(), "Service") {
		t.Errorf("without a service: %v", err)
	}
	for url, want := range map[string]target{
		"http://h:4318":           {"http://h:4318/v1/traces", 1},
		"https://h/?ratio=0.25":   {"https://h/v1/traces", 0.25},
		"http://h/x/v1?ratio=0#f": {"http://h/x/v1", 0},
	} {
		if got, err := parse(url); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", url, got, err, want)
		}
	}
}

func TestSampling(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(Sampler(0)), sdktrace.WithSpanProcessor(spans))
	tracer := provider.Tracer("test")
	kept := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true})
	left := kept.WithTraceFlags(0)
	for name, c := range map[string]struct {
		parent trace.SpanContext
		links  []trace.Link
		want   bool
	}{
		"first":               {want: false},
		"of a kept one":       {parent: kept, want: true},
		"of one that is not":  {parent: left, want: false},
		"links to a kept one": {links: []trace.Link{{SpanContext: left}, {SpanContext: kept}}, want: true},
		"links to others":     {links: []trace.Link{{SpanContext: left}}, want: false},
	} {
		_, s := tracer.Start(trace.ContextWithRemoteSpanContext(t.Context(), c.parent), name, trace.WithLinks(c.links...))
		if s.End(); s.SpanContext().IsSampled() != c.want {
			t.Errorf("%s: kept is %v, want %v", name, !c.want, c.want)
		}
	}
	all := sdktrace.NewTracerProvider(sdktrace.WithSampler(Sampler(1)))
	if _, s := all.Tracer("test").Start(t.Context(), "first"); !s.SpanContext().IsSampled() {
		t.Error("not kept, where all are")
	}
	if _, s := all.Tracer("test").Start(t.Context(), "links to others", trace.WithLinks(trace.Link{SpanContext: left})); s.SpanContext().IsSampled() {
		t.Error("kept, although none of what it links to is")
	}
}
