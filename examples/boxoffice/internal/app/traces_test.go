package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/traces"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// kept has the spans that processes have sent to one exporter in memory.
type kept struct{ *tracetest.InMemoryExporter }

func newKept() kept { return kept{tracetest.NewInMemoryExporter()} }

// provider is the tracer provider of one process.
func (k kept) provider(service string) trace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSyncer(k.InMemoryExporter), sdktrace.WithSampler(traces.Sampler(1)),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", service))))
}

// spans are those that have ended, as a collector would have them.
func (k kept) spans() (all []traces.Span) {
	for _, s := range k.GetSpans().Snapshots() {
		made := traces.Span{
			ID: traces.ID{Trace: s.SpanContext().TraceID(), Span: s.SpanContext().SpanID()}, Parent: s.Parent().SpanID(), Remote: s.Parent().IsRemote(),
			Name: s.Name(), Kind: s.SpanKind(), Start: s.StartTime(), End: s.EndTime(),
			Failed: s.Status().Code.String() == "Error", Attrs: map[string]string{},
		}
		for _, l := range s.Links() {
			made.Links = append(made.Links, traces.ID{Trace: l.SpanContext.TraceID(), Span: l.SpanContext.SpanID()})
		}
		for _, a := range s.Attributes() {
			made.Attrs[string(a.Key)] = a.Value.String()
		}
		about := map[string]string{}
		for _, a := range s.Resource().Attributes() {
			about[string(a.Key)] = a.Value.String()
		}
		made.From = about["service.name"]
		all = append(all, made)
	}
	return all
}

// of finds the trace of a request.
func (k kept) of(route string) (id trace.TraceID) {
	for _, s := range k.spans() {
		if s.Name == route {
			id = s.ID.Trace
		}
	}
	return id
}

// whole waits until the trace of a request is, and returns it.
func (k kept) whole(t *testing.T, route string) *traces.Node {
	t.Helper()
	var err error
	boxtest.WaitFor(t, "a whole trace of "+route, func() bool {
		err = traces.Whole(k.spans(), k.of(route))
		return err == nil
	}, func() string { return err.Error() + "\n" + traces.Render(traces.Tree(k.spans(), k.of(route))) })
	return traces.Tree(k.spans(), k.of(route))[0]
}

// below is the path of names from n down; "" stands for anything.
func below(n *traces.Node, names ...string) *traces.Node {
	if len(names) == 0 {
		return n
	}
	for _, c := range n.Children {
		if strings.HasPrefix(c.Name, names[0]) && !c.Linked {
			if found := below(c, names[1:]...); found != nil {
				return found
			}
		}
	}
	return nil
}

// follows makes bob follow ann and chat with her; her stream is notified of it.
func follows(t *testing.T, api, other *process, k kept) (followed, said *traces.Node) {
	t.Helper()
	ann, bob := api.visitor("ann"), other.visitor("bob")
	ann.call(http.MethodPost, "/api/rooms/show-1/join", "", nil, 204, nil)
	bob.call(http.MethodPost, "/api/rooms/show-1/join", "", nil, 204, nil)
	feed := ann.page().stays()
	bob.call(http.MethodPost, "/api/members/ann/follow", "", nil, 204, nil)
	for got := feed.event(); got != "notification"; got = feed.event() {
		if got != "probe" {
			t.Fatalf("the stream brings %q (%v)", got, feed.lines.Err())
		}
	}
	bob.call(http.MethodPost, "/api/rooms/show-1/messages", "", map[string]string{"text": "payload-text"}, 202, nil)
	for got := feed.event(); got != "chat"; got = feed.event() {
		if got == "" {
			t.Fatalf("the stream ended: %v", feed.lines.Err())
		}
	}
	return k.whole(t, "POST /api/members/{id}/follow"), k.whole(t, "POST /api/rooms/{id}/messages")
}

// TestOneTrace: from the request to the frame there is one trace, over all transports
// and processes.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"portable", "lean"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			k := newKept()
			p := startAs(t, Options{Gateway: quick(), TracerProvider: k.provider("boxoffice")}, "--data-dir", t.TempDir(), "--streams", how)
			followed, said := follows(t, p, p, k)
			deliver := below(followed, "create domain_events", "process domain_events", "deliver notification")
			if deliver == nil || deliver.Attrs["millrace.sse.streams"] != "1" || deliver.Attrs["millrace.sse.dropped"] != "0" {
				t.Errorf("\n%s", traces.Render([]*traces.Node{followed}))
			}
			if below(said, "create domain_events", "process domain_events", "deliver chat") == nil {
				t.Errorf("\n%s", traces.Render([]*traces.Node{said}))
			}
			for _, s := range k.spans() {
				if strings.Contains(s.Name+s.Attrs["url.path"], "ticket") && strings.Contains(s.Name, "stream") {
					t.Errorf("a stream has a span: %+v", s)
				}
			}
		})
	}
}

// TestOneTraceOfSplitProcesses: four processes, each with spans of its own.
func TestOneTraceOfSplitProcesses(t *testing.T) {
	t.Parallel()
	t.Run("SQLite and Redis", func(t *testing.T) {
		t.Parallel()
		oneTraceOfSplit(t, boxtest.URL(t), "", redistest.StartServer(t).URL())
	})
	t.Run("PostgreSQL, Kafka and Redis", func(t *testing.T) {
		t.Parallel()
		oneTraceOfSplit(t, servicetest.PostgresURL(t), kafka(t), redistest.StartServer(t).URL())
	})
}

func oneTraceOfSplit(t *testing.T, db, transport, redis string) {
	t.Helper()
	k, bank := newKept(), bank(t)
	role := func(roles string) *process {
		args := []string{"--data-dir", t.TempDir(), "--db-url", db, "--gateway-url", bank, "--roles", roles, "--redis-url", redis, "--redis-prefix", "box:",
			"--secret", "a-secret-that-the-processes-share", "--admin-token", "admin-token-of-the-test"}
		if transport != "" {
			args = append(args, "--bus-url", transport)
		}
		return startAs(t, Options{TracerProvider: k.provider(roles)}, args...)
	}
	one, two := role("api"), role("api")
	role("relay")
	worker := role("worker")
	worker.ready()
	followed, said := follows(t, one, two, k)
	for _, root := range []*traces.Node{followed, said} {
		created := below(root, "create domain_events")
		done := below(created, "process domain_events")
		if root.From != "api" || created.From != "api" || done.From != "worker" {
			t.Errorf("\n%s", traces.Render([]*traces.Node{root}))
		}
		for _, c := range created.Children {
			if c.Linked && c.From != "relay" {
				t.Errorf("%s by %s", c.Name, c.From)
			}
		}
	}
	// Two processes have streams; one delivers.
	if d := below(followed, "create domain_events", "process domain_events", "deliver notification"); d == nil || d.From != "api" {
		t.Errorf("\n%s", traces.Render([]*traces.Node{followed}))
	}
}

// kafka is a broker of the test's own: on a shared one another box office would have a
// part in its groups.
func kafka(t *testing.T) (url string) {
	t.Helper()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(broker.Close)
	return "kafka://" + broker.ListenAddrs()[0] + "/"
}

// TestTracesURL: a running process sends its spans by OTLP, the last of them at its end.
func TestTracesURL(t *testing.T) {
	t.Parallel()
	collector := traces.NewCollector(10_000)
	server := httptest.NewServer(collector)
	t.Cleanup(server.Close)
	p := start(t, "--data-dir", t.TempDir(), "--traces-url", server.URL)
	p.visitor("bob")
	p.visitor("ann").call(http.MethodPost, "/api/members/bob/follow", "", nil, 204, nil)
	require.NoError(t, p.stop())
	spans, _ := collector.Spans()
	var names []string
	for _, s := range spans {
		names = append(names, s.Name)
		assert.Equalf(t, "boxoffice", s.From, "%s by %q", s.Name, s.From)
	}
	if all := strings.Join(names, ","); !strings.Contains(all, "POST /api/members/{id}/follow") || !strings.Contains(all, "create domain_events") {
		t.Error(all)
	}
}

// TestTracesAway: an outage of the collector fails nothing.
func TestTracesAway(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--traces-url", "http://127.0.0.1:1")
	p.visitor("bob")
	p.visitor("ann").call(http.MethodPost, "/api/members/bob/follow", "", nil, 204, nil)
	assert.NoError(t, p.stop())
}
