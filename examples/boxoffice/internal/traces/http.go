package traces

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/routes"
)

type requestKey struct{}

// HTTP makes a span for each request except those that quiet selects; it returns next
// itself when provider is nil.
//
// The instrumentation gets a request with only the method, the protocol, the length
// and the trace context: addresses of clients, queries with tickets and ids in paths
// are left out. The route, which a request has once it was handled, replaces its
// path.
func HTTP(provider trace.TracerProvider, quiet func(*http.Request) bool, next http.Handler) http.Handler {
	if provider == nil {
		return next
	}
	inner := http.HandlerFunc(func(w http.ResponseWriter, shown *http.Request) {
		asked, _ := shown.Context().Value(requestKey{}).(*http.Request) // put there below
		asked = asked.WithContext(shown.Context())
		asked.Body = shown.Body // counted
		defer func() {
			shown.Pattern = asked.Pattern
			if route := routes.Of(asked); route != "" {
				trace.SpanFromContext(shown.Context()).SetAttributes(attribute.String("http.route", route))
			}
		}()
		next.ServeHTTP(w, asked)
	})
	traced := otelhttp.NewHandler(inner, "",
		otelhttp.WithTracerProvider(provider),
		otelhttp.WithMeterProvider(noop.NewMeterProvider()),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithServerName("boxoffice"), // or it would be the client's Host header
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string {
			return strings.TrimSpace(r.Method + " " + routes.Of(r))
		}),
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if quiet(r) {
			next.ServeHTTP(w, r)
			return
		}
		header := http.Header{}
		for _, name := range [...]string{"Traceparent", "Tracestate"} {
			if v := r.Header[name]; len(v) > 0 {
				header[name] = v
			}
		}
		shown := (&http.Request{
			Method: r.Method, URL: &url.URL{}, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
			Header: header, Body: r.Body, ContentLength: r.ContentLength,
		}).WithContext(context.WithValue(r.Context(), requestKey{}, r))
		traced.ServeHTTP(w, shown)
	})
}
