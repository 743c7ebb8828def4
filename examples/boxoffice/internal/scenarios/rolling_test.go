package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// looked is how often the balancer asks each process whether it is ready.
const looked = 100 * time.Millisecond

// backend is a process that the balancer knows.
type backend struct {
	addr  string // host:port
	ready atomic.Bool
}

// look asks whether the process is ready. Without an answer the state stays: clients
// notice a closed port when they connect.
func (b *backend) look(ctx context.Context, client *http.Client) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.addr+"/readyz", nil)
	if err != nil {
		return
	}
	if res, err := client.Do(req); err == nil {
		b.ready.Store(res.StatusCode == http.StatusOK)
		_ = res.Body.Close() // the status is all of it
	}
}

// balancer stands before the API as a load balancer does: it asks each process whether
// it is ready, takes the next one when one is not or accepts no connection, passes on
// the answers, and records those that a client must never see.
type balancer struct {
	*httptest.Server
	apis      []*backend
	turn      atomic.Uint64
	transport *http.Transport

	mu      sync.Mutex
	wrong   []string
	answers map[int]int
}

func balance(t *testing.T, o *office) *balancer {
	b := &balancer{answers: map[int]int{}}
	for _, name := range o.called("api") {
		api := &backend{addr: o.each[name].addr}
		api.ready.Store(true)
		b.apis = append(b.apis, api)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var lookers sync.WaitGroup
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, api := range b.apis {
		lookers.Go(func() {
			tick := time.NewTicker(looked)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					api.look(ctx, client)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	// A connection for each request, and another process when the connection fails:
	// nothing has been sent by then.
	b.transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (conn net.Conn, err error) {
		var dialer net.Dialer
		first := b.turn.Add(1)
		err = errors.New("no process is ready")
		for i := range uint64(len(b.apis)) {
			if api := b.apis[(first+i)%uint64(len(b.apis))]; api.ready.Load() {
				if conn, err = dialer.DialContext(ctx, network, api.addr); err == nil {
					return conn, nil
				}
			}
		}
		return nil, err
	}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "api", r.In.Host
		},
		Transport:     b.transport,
		FlushInterval: -1,
		ModifyResponse: func(res *http.Response) error {
			b.note(res)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				b.broken("%s %s was not answered: %v", r.Method, r.URL.Path, err)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	b.Server = httptest.NewServer(proxy)
	t.Cleanup(func() { stop(); lookers.Wait(); b.Close(); b.transport.CloseIdleConnections() })
	return b
}

func (b *balancer) note(res *http.Response) {
	if res.StatusCode >= 500 && (res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "") {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 300)) // for the message
		b.broken("%s %s: %s, Retry-After %q: %s", res.Request.Method, res.Request.URL.Path, res.Status, res.Header.Get("Retry-After"), text)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[res.StatusCode]++
}

func (b *balancer) broken(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

// Every process is restarted, one after the other, while a crowd books, pays, chats
// and waits in line: no event is lost, and no request is answered with 5xx except 503
// with Retry-After.
func TestScenario25RollingRestart(t *testing.T) {
	onServersOnly(t)
	if proved(t) == "" {
		t.Log("n/a: it restarts many processes on servers, which make prove has; the embedded defaults are one process")
		return
	}
	o := openOffice(t, officePlan{processes: apart(), env: map[string]string{
		"BOXOFFICE_WORKERS":       "3", // two, and one that ends
		"BOXOFFICE_LEAVE_SECONDS": "1",
	}})
	b := balance(t, o)
	v := o.visit(32, 25, b.URL)
	v.some(10)
	began := time.Now()
	for _, name := range o.order {
		done := v.fans.Progress().Requests
		o.stop(name)
		o.start(name)
		eventually(t, "the crowd goes on after "+name, func() bool { return v.fans.Progress().Requests > done+100 })
	}
	took := time.Since(began)
	v.leave()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, text := range b.wrong {
		if i == 10 {
			t.Errorf("and %d more", len(b.wrong)-i)
			break
		}
		t.Error(text)
	}
	measured(t, "%d processes restarted within %v; answers %v, %d that may not be", len(o.order), took.Round(time.Second), b.answers, len(b.wrong))
}
