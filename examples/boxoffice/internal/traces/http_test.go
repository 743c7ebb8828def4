package traces

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// traced serves mux under HTTP; paths below /quiet are quiet. A span ends with its
// handler, which may be after the answer: ended waits for that.
func traced(t *testing.T, mux http.Handler) (url string, ended func() []sdktrace.ReadOnlySpan) {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	handler := HTTP(provider, func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/quiet") }, mux)
	var handled sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handled.Add(1)
		defer handled.Done()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []sdktrace.ReadOnlySpan {
		handled.Wait()
		return spans.Ended()
	}
}

func ask(t *testing.T, method, url string, header http.Header, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header = header
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	defer res.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(text)
}

func TestRequestsTellNoSecrets(t *testing.T) {
	inner := http.NewServeMux()
	inner.HandleFunc("POST /api/things/{id}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.True(t, trace.SpanContextFromContext(r.Context()).IsValid(), "no span in the context")
		// The handler gets the whole request.
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, r.PathValue("id"), r.URL.Query().Get("ticket"), r.Header.Get("Authorization"), string(body), r.RemoteAddr != "")
	})
	mux := http.NewServeMux()
	mux.Handle("/api/", inner)
	url, ended := traced(t, mux)
	header := http.Header{
		"Authorization": {"hunter2-bearer"}, "User-Agent": {"hunter2-agent"}, "X-Forwarded-For": {"hunter2-address"}, "Cookie": {"a=hunter2-cookie"},
		"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	}
	got := ask(t, http.MethodPost, url+"/api/things/hunter2-id?ticket=hunter2-ticket", header, "hunter2-body")
	assert.Equal(t, "hunter2-idhunter2-tickethunter2-bearerhunter2-bodytrue", got, "the handler saw")
	s := ended()[0]
	told := map[string]string{}
	for _, a := range s.Attributes() {
		told[string(a.Key)] = a.Value.String()
	}
	if all := fmt.Sprint(s.Name(), told, s.Events(), s.Status()); strings.Contains(all, "hunter2") || strings.Contains(all, "127.0.0.1") {
		t.Error(all)
	}
	if s.Name() != "POST /api/things/{id}" || s.SpanKind() != trace.SpanKindServer || s.Parent().TraceID().String() != "0af7651916cd43dd8448eb211c80319c" ||
		told["http.route"] != "/api/things/{id}" || told["http.request.method"] != "POST" || told["http.response.status_code"] != "418" {
		t.Errorf("%s %v under %v: %v", s.Name(), s.SpanKind(), s.Parent(), told)
	}
	ask(t, http.MethodGet, url+"/hunter2-nothing", http.Header{}, "")
	assert.Equal(t, "GET", ended()[1].Name(), "without a route")
}

func TestQuietRequests(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/quiet/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, trace.SpanContextFromContext(r.Context()).IsValid())
	})
	url, ended := traced(t, mux)
	if got := ask(t, http.MethodGet, url+"/quiet/1", http.Header{}, ""); got != "false" || len(ended()) != 0 {
		t.Errorf("%q, %d spans", got, len(ended()))
	}
	if HTTP(nil, nil, mux) != http.Handler(mux) {
		t.Error("without a provider it is another handler")
	}
}

func TestRequestsLetThrough(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/flush", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "a")
		assert.NoError(t, http.NewResponseController(w).Flush())
	})
	mux.HandleFunc("/take", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close() //nolint:errcheck // it was written to
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ntaken")
	})
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	url, ended := traced(t, mux)
	assert.Equal(t, "a", ask(t, http.MethodGet, url+"/flush", http.Header{}, ""))
	assert.Equal(t, "taken", ask(t, http.MethodGet, url+"/take", http.Header{}, ""))
	if res, err := http.Get(url + "/panic"); err == nil {
		res.Body.Close() //nolint:errcheck // nothing was answered
		t.Error("a panic was answered")
	}
	var names []string
	for _, s := range ended() {
		names = append(names, s.Name())
	}
	slices.Sort(names)
	// After a panic the route is in http.route alone: a span is named after its handler.
	if want := []string{"GET", "GET /flush", "GET /take"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}
