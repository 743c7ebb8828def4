package traces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Config of [Open]. Service is required.
type Config struct {
	// Service is the service.name of every span.
	Service string
	// Version is the service.version; none when empty.
	Version string
	// Instance identifies the process; none when empty.
	Instance string
	// Timeout bounds one try to reach the collector, and Close, which sends the
	// remaining spans; 3 s when zero. Spans that the collector does not accept in that
	// time are lost.
	Timeout time.Duration
	// Delay is how long a span waits for others to be sent with; 1 s when zero.
	Delay time.Duration
	// Logger logs when the collector becomes unreachable and reachable again;
	// slog.Default() when nil.
	Logger *slog.Logger
}

// maxQueue is how many spans wait for the collector; more are dropped.
const maxQueue = 8192

// maxLinks is how many messages a span of the relay or of a batch may link to: the
// largest Publish call of the relay has 500.
const maxLinks = 1000

// Traces makes spans and sends them to a collector. A nil Traces makes none.
type Traces struct {
	provider *sdktrace.TracerProvider
	exports  *exports
	timeout  time.Duration
	log      *slog.Logger
}

// Open makes a Traces. It connects to nothing; an outage of the collector loses
// spans.
func Open(rawURL string, cfg Config) (*Traces, error) {
	to, err := parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	if cfg.Service == "" {
		return nil, errors.New("traces: Service is empty; name the program")
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 3*time.Second)
	cfg.Delay = cmp.Or(cfg.Delay, time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	exporter, err := otlptracehttp.New(context.Background(), // it connects with the first spans
		otlptracehttp.WithEndpointURL(to.endpoint),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithTimeout(cfg.Timeout),
		// Retries are of little use to spans, and delay later ones.
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}),
	)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	return open(exporter, to.ratio, cfg), nil
}

func open(exporter sdktrace.SpanExporter, ratio float64, cfg Config) *Traces {
	about := []attribute.KeyValue{attribute.String("service.name", cfg.Service)}
	for key, value := range map[attribute.Key]string{"service.version": cfg.Version, "service.instance.id": cfg.Instance} {
		if value != "" {
			about = append(about, key.String(value))
		}
	}
	limits := sdktrace.NewSpanLimits()
	limits.LinkCountLimit, limits.EventCountLimit = maxLinks, maxLinks
	to := &exports{SpanExporter: exporter, log: cfg.Logger}
	to.wanted, to.end = context.WithCancel(context.Background())
	return &Traces{
		provider: sdktrace.NewTracerProvider(
			sdktrace.WithResource(resource.NewSchemaless(about...)),
			sdktrace.WithSampler(Sampler(ratio)),
			sdktrace.WithRawSpanLimits(limits),
			sdktrace.WithBatcher(to,
				sdktrace.WithBatchTimeout(cfg.Delay), sdktrace.WithExportTimeout(cfg.Timeout), sdktrace.WithMaxQueueSize(maxQueue)),
		),
		exports: to, timeout: cfg.Timeout, log: cfg.Logger,
	}
}

// Provider makes spans; nil for a nil Traces.
func (t *Traces) Provider() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.provider
}

// Close sends the remaining spans, for as long as Config.Timeout. Spans that end
// later are lost. A refusal by the collector is logged, and is no error.
func (t *Traces) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.timeout)
	defer cancel()
	defer t.exports.end()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last spans were not sent", "error", err)
	}
}

// exports logs once that spans cannot be sent, and once that they are again. Errors
// end here: the SDK would print each of them. The SDK would also go on with its queue
// after Close has returned, for as long as a collector that hangs lets each batch
// wait; with end the rest is dropped at once.
type exports struct {
	sdktrace.SpanExporter
	log    *slog.Logger
	away   bool // used by the one goroutine that exports
	wanted context.Context
	end    context.CancelFunc
}

// ExportSpans implements [sdktrace.SpanExporter].
func (e *exports) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if e.wanted.Err() != nil {
		return nil // Close has said so
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.wanted, cancel)()
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil && !e.away:
		e.log.Warn("spans cannot be sent and are dropped", "error", err)
	case err == nil && e.away:
		e.log.Info("spans are sent again")
	}
	e.away = err != nil
	return nil
}
