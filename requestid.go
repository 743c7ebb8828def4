package millrace

import (
	"net/http"
	"strings"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/event"
)

// requestHeader is the header of a request's id, in requests and in responses.
const requestHeader = "X-Request-Id"

// maxRequestID bounds an id in bytes; the columns that store ids have the same bound.
const maxRequestID = 128

// Wrap gives each request an id, and sends it in the header X-Request-Id of the response: the id
// of the request's own header, else the id of its trace, else a new one. Events and log lines of
// the request carry the id as their correlation id. Wrap needs no tracing.
func Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := requestID(r)
		w.Header().Set(requestHeader, id)
		named := r.WithContext(event.WithCorrelation(r.Context(), id))
		defer func() { r.Pattern = named.Pattern }() // the name of the request's span
		next.ServeHTTP(w, named)
	})
}

func requestID(r *http.Request) string {
	if id := r.Header.Get(requestHeader); isRequestID(id) {
		return id
	}
	sc := trace.SpanContextFromContext(r.Context())
	if !sc.HasTraceID() { // this process creates no spans
		sc = trace.SpanContextFromContext(propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header)))
	}
	if sc.HasTraceID() {
		return sc.TraceID().String()
	}
	return uuid.NewString()
}

// isRequestID reports whether an id of a request can be passed on unchanged: it has only the
// characters of ids, and none that a log, a header or a page would interpret.
func isRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	return !strings.ContainsFunc(id, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_.:/+=@", c))
	})
}
