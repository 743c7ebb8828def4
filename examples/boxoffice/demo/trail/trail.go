package trail

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/traces"
)

// Check is the name of the check.
const Check = "one trace from a request to the stream"

// maxSpans bounds the kept spans, some 1 kB each.
const maxSpans = 50_000

// Trail keeps the spans of a box office.
type Trail struct {
	spans  *traces.Collector
	server *http.Server
	ln     net.Listener
	served chan error
}

// Start listens on a free port of the loopback interface.
func Start() (*Trail, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("trail: find a free port: %w", err)
	}
	t := &Trail{spans: traces.NewCollector(maxSpans), ln: ln, served: make(chan error, 1)}
	t.server = &http.Server{Handler: t.spans, ReadHeaderTimeout: 5 * time.Second}
	go func() { t.served <- t.server.Serve(ln) }()
	return t, nil
}

// URL is where processes send their spans: of about that many fans' requests, and of
// each request whose caller asks for it.
func (t *Trail) URL(fans, of int) string {
	ratio := min(1, float64(fans)/float64(max(of, 1)))
	return "http://" + t.ln.Addr().String() + "/v1/traces?ratio=" + strconv.FormatFloat(ratio, 'g', 4, 64)
}

// Close ends the listening.
func (t *Trail) Close() error {
	err := t.server.Close()
	if end := <-t.served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// Follow makes the visit, waits for its trace as long as patience, and returns the
// check and the trace as a tree. The names of the two members begin with run.
func (t *Trail) Follow(ctx context.Context, url, run string, patience time.Duration) (judge.Check, string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v := newVisit(url)
	defer v.http.CloseIdleConnections()
	if err := v.make(ctx, run); err != nil {
		return judge.Check{Name: Check, Detail: err.Error()}, ""
	}
	for {
		more := t.spans.More()
		spans, dropped := t.spans.Spans()
		err := traces.Whole(spans, v.trace)
		roots := traces.Tree(spans, v.trace)
		if err == nil {
			return judge.Check{Name: Check, OK: true, Detail: told(roots[0], len(spans))}, traces.Render(roots)
		}
		select {
		case <-more:
		case <-ctx.Done():
			if dropped > 0 {
				err = fmt.Errorf("%w (%d spans did not fit)", err, dropped)
			}
			return judge.Check{Name: Check, Detail: err.Error()}, traces.Render(roots)
		}
	}
}

// told is the summary of a trace.
func told(root *traces.Node, kept int) string {
	n, last, by := 0, root.End, map[string]bool{}
	var walk func(*traces.Node)
	walk = func(node *traces.Node) {
		n++
		by[node.From] = true
		if node.Kind == trace.SpanKindConsumer && node.End.After(last) {
			last = node.End
		}
		for _, c := range node.Children {
			walk(c)
		}
	}
	walk(root)
	kinds := "one kind of process"
	if len(by) > 1 {
		kinds = fmt.Sprintf("%d kinds of processes", len(by))
	}
	return fmt.Sprintf("%d spans by %s in %.1f ms; %d spans kept in all", n, kinds, float64(last.Sub(root.Start))/float64(time.Millisecond), kept)
}
