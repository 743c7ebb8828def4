package trail

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/traces"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// office answers as a box office does, and makes the spans of a visit to an office
// with all parts, except those left out.
type office struct {
	t       *testing.T
	leaves  string
	busy    int    // requests that it refuses first
	refuses func() // called when it does
	traces  *traces.Traces
	follows chan context.Context
}

func startOffice(t *testing.T, o *office, trail *Trail) (url string) {
	t.Helper()
	var err error
	if o.traces, err = traces.Open(trail.URL(1, 1000), traces.Config{Service: "office", Delay: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.traces.Close)
	o.t, o.follows = t, make(chan context.Context, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/login", o.login)
	mux.HandleFunc("GET /api/notifications/stream", o.stream)
	mux.HandleFunc("POST /api/members/{id}/follow", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != "run-followed" || r.Header.Get("Authorization") != "Bearer token" {
			t.Errorf("%s %s", r.URL, r.Header)
		}
		o.follows <- context.WithoutCancel(r.Context())
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(traces.HTTP(o.traces.Provider(), func(r *http.Request) bool { return o.leaves == "request" || r.Method == http.MethodGet }, mux))
	t.Cleanup(server.Close)
	return server.URL
}

func (o *office) login(w http.ResponseWriter, _ *http.Request) {
	if o.busy--; o.busy >= 0 {
		if o.refuses != nil {
			o.refuses()
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	fmt.Fprint(w, `{"token":"token"}`)
}

func (o *office) stream(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		o.t.Error(err)
	}
	select {
	case ctx := <-o.follows:
		o.spans(ctx)
		if o.leaves != "frame" {
			fmt.Fprint(w, "event: ping\ndata:\n\nevent: notification\ndata: {}\n\n")
		}
	case <-r.Context().Done():
	}
}

func (o *office) spans(ctx context.Context) {
	tracer := o.traces.Provider().Tracer("test")
	ctx, created := tracer.Start(ctx, "create t", trace.WithSpanKind(trace.SpanKindProducer))
	created.End()
	if o.leaves != "send" {
		_, sent := tracer.Start(context.Background(), "send t", trace.WithSpanKind(trace.SpanKindClient), trace.WithLinks(trace.Link{SpanContext: created.SpanContext()}))
		sent.End()
	}
	ctx, done := tracer.Start(ctx, "process t", trace.WithSpanKind(trace.SpanKindConsumer))
	done.End()
	if o.leaves != "delivery" {
		_, told := tracer.Start(ctx, "deliver notification", trace.WithSpanKind(trace.SpanKindConsumer))
		told.End()
	}
}

func started(t *testing.T) *Trail {
	t.Helper()
	trail, err := Start()
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, trail.Close())
	})
	return trail
}

func TestTrail(t *testing.T) {
	trail := started(t)
	check, tree := trail.Follow(t.Context(), startOffice(t, &office{busy: 1}, trail), "run", 30*time.Second)
	if !check.OK || check.Name != Check || !strings.HasPrefix(check.Detail, "5 spans by one kind of process in ") {
		t.Errorf("%+v", check)
	}
	lines := strings.Split(tree, "\n")
	for i, want := range []string{"POST /api/members/{id}/follow ", "└─ create t ", "   ├─ send t (linked) ", "   └─ process t ", "      └─ deliver notification "} {
		if len(lines) < 6 || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("line %d is not %q:\n%s", i, want, tree)
		}
	}
}

func TestTrailIsBroken(t *testing.T) {
	for leaves, want := range map[string]string{
		"request": "no span of the trace", "send": "no send links", "delivery": "nothing was delivered", "frame": "the stream ended without the notification",
	} {
		t.Run(leaves, func(t *testing.T) {
			t.Parallel()
			trail := started(t)
			check, _ := trail.Follow(t.Context(), startOffice(t, &office{leaves: leaves}, trail), "run", 5*time.Second)
			if check.OK || !strings.Contains(check.Detail, want) {
				t.Errorf("%+v, want %q", check, want)
			}
		})
	}
}

func TestTrailOfABusyOffice(t *testing.T) {
	trail := started(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	asked := 0
	busy := &office{busy: 1_000_000, refuses: func() {
		if asked++; asked == 2 { // the first refusal was heard
			stop()
		}
	}}
	if check, _ := trail.Follow(ctx, startOffice(t, busy, trail), "run", time.Minute); check.OK || !strings.Contains(check.Detail, "503") {
		t.Errorf("%+v", check)
	}
	if check, _ := trail.Follow(t.Context(), "http://127.0.0.1:1", "run", time.Minute); check.OK || check.Detail == "" {
		t.Errorf("no office: %+v", check)
	}
}
