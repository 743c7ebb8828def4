package traces

import (
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	collect "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// maxRequest bounds the size of one request to a Collector, in bytes.
const maxRequest = 16 << 20

// Collector keeps the spans that it is sent by OTLP over HTTP, in protobuf. It is an
// http.Handler for any path. Use [NewCollector].
type Collector struct {
	max int

	mu      sync.Mutex
	spans   []Span
	dropped int
	more    chan struct{} // closed, and made again, when spans have come
}

// NewCollector makes a Collector that keeps up to max spans; later ones are only
// counted.
func NewCollector(max int) *Collector { return &Collector{max: max, more: make(chan struct{})} }

// Spans returns the kept spans, and the number of dropped ones.
func (c *Collector) Spans() (spans []Span, dropped int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans), c.dropped
}

// More is closed when there are other spans than at the time of the call.
func (c *Collector) More() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.more
}

// ServeHTTP implements [http.Handler].
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(http.MaxBytesReader(w, r.Body, maxRequest))
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, "the body is not gzip", http.StatusBadRequest)
			return
		}
		body = io.LimitReader(unpacked, maxRequest)
	}
	raw, err := io.ReadAll(body)
	var sent collect.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(raw, &sent) != nil {
		http.Error(w, "the body is no request to export spans, or too long", http.StatusBadRequest)
		return
	}
	c.keep(read(&sent))
	answer, err := proto.Marshal(&collect.ExportTraceServiceResponse{})
	if err != nil {
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer) // the client may be gone
}

func (c *Collector) keep(spans []Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := min(len(spans), c.max-len(c.spans))
	c.spans = append(c.spans, spans[:room]...)
	c.dropped += len(spans) - room
	close(c.more)
	c.more = make(chan struct{})
}

func read(sent *collect.ExportTraceServiceRequest) (all []Span) {
	for _, of := range sent.GetResourceSpans() {
		about := attrs(of.GetResource().GetAttributes())
		from := about["service.name"]
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				all = append(all, readSpan(s, from))
			}
		}
	}
	return all
}

func readSpan(s *otlp.Span, from string) Span {
	made := Span{
		ID: idOf(s.GetTraceId(), s.GetSpanId()), Parent: idOf(nil, s.GetParentSpanId()).Span,
		Remote: s.GetFlags()&uint32(otlp.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK) != 0,
		Name:   s.GetName(), Kind: trace.SpanKind(s.GetKind()), From: from,
		Start: time.Unix(0, int64(s.GetStartTimeUnixNano())), End: time.Unix(0, int64(s.GetEndTimeUnixNano())),
		Failed: s.GetStatus().GetCode() == otlp.Status_STATUS_CODE_ERROR, Attrs: attrs(s.GetAttributes()),
	}
	for _, l := range s.GetLinks() {
		made.Links = append(made.Links, idOf(l.GetTraceId(), l.GetSpanId()))
	}
	return made
}

// idOf reads ids; short ones have zeros at their end.
func idOf(traceID, spanID []byte) (id ID) {
	copy(id.Trace[:], traceID)
	copy(id.Span[:], spanID)
	return id
}

func attrs(all []*common.KeyValue) map[string]string {
	m := make(map[string]string, len(all))
	for _, a := range all {
		m[a.GetKey()] = text(a.GetValue())
	}
	return m
}
