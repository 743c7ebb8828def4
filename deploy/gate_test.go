package deploy

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/token"
)

// TestGateBehindProxies plays a visitor's journey through the real proxies, with the files
// of the folder gate.
func TestGateBehindProxies(t *testing.T) {
	t.Run("nginx", func(t *testing.T) {
		playGate(t, "nginx", gate.Nginx, "nginx.conf", nginxArgs)
	})
	t.Run("caddy", func(t *testing.T) {
		playGate(t, "caddy", gate.Forward, "Caddyfile", func(_, file string) []string {
			return []string{"run", "--adapter", "caddyfile", "--config", file}
		})
	})
	t.Run("haproxy", func(t *testing.T) {
		playGate(t, "haproxy", gate.Forward, "haproxy.cfg", func(_, file string) []string {
			return []string{"-db", "-f", file}
		})
	})
	t.Run("traefik", func(t *testing.T) {
		playGate(t, "traefik", gate.Forward, "traefik-gate.yaml", func(_, file string) []string {
			return []string{"--entryPoints.web.address=:80", "--providers.file.filename=" + file, "--log.level=ERROR", "--global.checkNewVersion=false", "--global.sendAnonymousUsage=false"}
		})
	})
	t.Run("envoy", func(t *testing.T) {
		playGate(t, "envoy", gate.Envoy, "envoy.yaml", func(_, file string) []string {
			return []string{"-c", file, "--concurrency", "1", "--disable-hot-restart", "-l", "warn"}
		})
	})
}

// behind is a judge, a site, and what the site was sent last.
type behind struct {
	t           *testing.T
	room        *queue.Room
	judge, site *httptest.Server
	reached     atomic.Int64
	visit       atomic.Pointer[visit] // nil: the signature was wrong
	h2c         atomic.Bool           // a request was to upgrade to HTTP/2
	at          string                // of the proxy
}

// visit is what the site was told of a request.
type visit struct{ event, user string }

// newBehind serves a gate before a site, as serve says: as a judge or as a proxy. The
// site may be another program, at.
func newBehind(t *testing.T, at string, serve func(*gate.Gate) (http.Handler, error), change func(*gate.Config)) *behind {
	t.Helper()
	b := &behind{t: t}
	fail := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	keys, err := token.NewRing(strings.Repeat("s", 32))
	fail(err)
	store, err := memqueue.New(memqueue.Config{})
	fail(err)
	quiet := slog.New(slog.DiscardHandler)
	b.room, err = queue.New(store, keys, queue.Config{Threshold: 1, Tick: 10 * time.Millisecond, Logger: quiet})
	fail(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.room.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	verify, err := gate.NewVerifier(keys)
	fail(err)
	if at == "" {
		b.site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b.reached.Add(1)
			var of visit
			var err error
			of.event, of.user, err = verify(r)
			if b.visit.Store(&of); err != nil || r.Header.Get("X_millrace_user") != "" {
				b.visit.Store(nil)
			}
			if r.Header.Get("Upgrade") == "h2c" {
				b.h2c.Store(true)
			}
			if r.URL.Path == "/static/refused" {
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = io.WriteString(w, "the site at "+r.RequestURI)
		}))
		t.Cleanup(b.site.Close)
		at = b.site.Listener.Addr().String()
	}
	cfg := gate.Config{Event: "sale", Keys: keys, Origin: &url.URL{Scheme: "http", Host: at}, Pass: []string{"/static/**"}, AliveEvery: time.Second, Logger: quiet}
	if change != nil {
		change(&cfg)
	}
	g, err := gate.New(b.room, cfg)
	fail(err)
	t.Cleanup(g.Close)
	handler, err := serve(g)
	fail(err)
	b.judge = httptest.NewServer(handler)
	t.Cleanup(b.judge.Close)
	return b
}

// start runs a proxy with a file of the folder gate until the test ends.
func (b *behind) start(path, file string, args func(folder, file string) []string) {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join("gate", file))
	if err != nil {
		b.t.Fatal(err)
	}
	lua, err := filepath.Abs("gate/gate.lua")
	if err != nil {
		b.t.Fatal(err)
	}
	b.at = freeAddress(b.t)
	_, port, _ := net.SplitHostPort(b.at)
	own := func(folder, file string) []string {
		all := args(folder, file)
		for i := range all {
			all[i] = strings.Replace(all[i], "address=:80", "address="+b.at, 1)
		}
		return all
	}
	listening(b.t, b.at, path, file, strings.NewReplacer(
		"127.0.0.1:8080", b.judge.Listener.Addr().String(), "127.0.0.1:3000", b.site.Listener.Addr().String(), "/etc/haproxy/gate.lua", lua,
		"listen 80;", "listen "+b.at+";", "bind :80", "bind "+b.at, ":80 {", "http://:"+port+" {",
		"address: 0.0.0.0, port_value: 80 ", "address: 127.0.0.1, port_value: "+port+" ",
		"address: 127.0.0.1, port_value: 8080 ", inYAML(b.judge), "address: 127.0.0.1, port_value: 3000 ", inYAML(b.site),
	).Replace(string(text)), own)
}

// inYAML is the address of a server as Envoy has it.
func inYAML(s *httptest.Server) string {
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return "address: 127.0.0.1, port_value: " + port + " "
}

// visitor is a browser before the proxy.
type visitor struct {
	*behind
	client http.Client
}

func (b *behind) visitor() *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	transport := &http.Transport{}
	b.t.Cleanup(transport.CloseIdleConnections)
	return &visitor{b, http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

var document = http.Header{"Accept": {"text/html"}, "Sec-Fetch-Dest": {"document"}}

func (v *visitor) do(method, target string, h http.Header) (status int, header http.Header, text string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, "http://"+v.at+target, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	for name, values := range h {
		r.Header[name] = values
	}
	answer, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(body)
}

func (v *visitor) want(status int, text, method, target string, h http.Header) http.Header {
	v.t.Helper()
	got, header, body := v.do(method, target, h)
	if got != status || !strings.Contains(body, text) {
		v.t.Fatalf("%s %s: %d %.300s, want %d with %q", method, target, got, body, status, text)
	}
	return header
}

const forgedAddress = "203.0.113.9"

func playGate(t *testing.T, name string, kind gate.Kind, file string, args func(folder, file string) []string) {
	// A request that the proxy asked about without the address of its connection.
	var nameless atomic.Pointer[string]
	b := newBehind(t, "", func(g *gate.Gate) (http.Handler, error) {
		judge, err := g.Judge(kind)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if from := strings.Join(r.Header["X-Forwarded-For"], ","); from == "" || strings.HasSuffix(from, forgedAddress) {
				asked := fmt.Sprintf("%s %s from %q", r.Method, r.RequestURI, from)
				nameless.Store(&asked)
			}
			judge.ServeHTTP(w, r)
		}), err
	}, nil)
	b.start(program(t, name), file, args)
	defer func() {
		if asked := nameless.Load(); asked != nil {
			t.Errorf("joins by address need the visitor's: the gate was asked %s", *asked)
		}
	}()
	first, second := b.visitor(), b.visitor()
	waits := http.StatusServiceUnavailable
	if kind == gate.Envoy {
		waits = http.StatusTooManyRequests
	}

	// Traefik listens before it has read its routes.
	loaded, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	require.NoError(t, until(loaded, func() bool {
		status, _, _ := first.do("GET", "/static/ready", nil)
		return status == http.StatusOK
	}), "the routes")

	page := first.want(waits, `"event":"sale"`, "GET", "/seats?row=7", document)
	if page.Get("Retry-After") != "5" || page.Get("Cache-Control") != "no-store" || len(page.Values("Set-Cookie")) != 1 {
		t.Fatalf("the page came with %v", page)
	}
	packed := document.Clone()
	packed.Set("Accept-Encoding", "gzip")
	if answer := first.want(303, "", "GET", "/seats?row=7", packed); answer.Get("Location") != "/seats?row=7" || len(answer.Values("Set-Cookie")) != 1 {
		t.Fatalf("the entry came with %v", answer)
	}
	forged := http.Header{"X-Millrace-User": {"admin"}, "X_Millrace_User": {"admin"}, "X-Millrace-Event": {"other"}, "X-Forwarded-For": {forgedAddress}}
	for _, h := range []http.Header{document, forged} {
		first.want(200, "the site at /seats?row=7", "GET", "/seats?row=7", h)
		if of := b.visit.Load(); of == nil || of.event != "sale" || len(of.user) != 22 {
			t.Fatalf("the site was told %+v", of)
		}
	}
	first.want(200, "the site at /pay", "POST", "/pay", nil)

	second.want(waits, `"event":"sale"`, "GET", "/", document)
	coding := map[string]string{"nginx": "gzip", "caddy": "gzip", "traefik": "gzip", "haproxy": "", "envoy": "gzip"}[name]
	if answer := second.want(waits, "", "GET", "/", packed); answer.Get("Content-Encoding") != coding {
		t.Fatalf("the page to a browser that unpacks came with %v", answer)
	}
	second.want(200, `"position":1`, "POST", "/millrace-gate/check/sale", nil)
	before := b.reached.Load()
	for target, status := range map[string]int{"/pay": 429, "/static/..%2fpay": 400, "/static/%2e%2e/pay": 429} {
		if answer := second.want(status, "/problems/", "POST", target, nil); status == 429 && answer.Get("Retry-After") != "5" {
			t.Errorf("%s came with %v", target, answer)
		}
	}
	second.want(waits, "", "HEAD", "/", document)
	assert.Equal(t, before, b.reached.Load(), "a request without a place reached the site")
	second.want(200, "the site at /static/a.css", "GET", "/static/a.css", forged)
	if of := b.visit.Load(); of == nil || *of != (visit{event: "sale"}) {
		t.Errorf("of an asset the site was told %+v", of)
	}
	second.want(401, "the site at /static/refused", "GET", "/static/refused", nil) // the site's own
	second.want(200, "", "OPTIONS", "/pay", nil)
	second.do("OPTIONS", "/pay", http.Header{"Connection": {"Upgrade, HTTP2-Settings"}, "Upgrade": {"h2c"}, "Http2-Settings": {"AAMAAABkAARAAAAAAAIAAAAA"}})
	assert.False(t, b.h2c.Load(), "HTTP/2 in which the gate sees no request was offered to the site")

	first.want(204, "", "POST", "/millrace-gate/leave/sale", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, until(ctx, func() bool {
		_, _, text := second.do("POST", "/millrace-gate/check/sale", nil)
		return strings.Contains(text, `"status":"active"`)
	}), "the turn")
	second.want(303, "", "GET", "/seats?row=8", document)
	second.want(200, "the site at /seats?row=8", "GET", "/seats?row=8", document)
	first.want(waits, "", "GET", "/", document)

	_, err := b.room.Clear(ctx, "sale")
	require.NoError(t, err)
	require.NoError(t, until(ctx, func() bool {
		status, _, _ := second.do("POST", "/pay", nil)
		return status == 429
	}), "the end of the pass")

	b.judge.Close()
	before = b.reached.Load()
	if name == "traefik" { // it has no answer of one's own for that
		second.want(500, "", "GET", "/", document)
	} else if answer := second.want(503, "", "GET", "/", document); answer.Get("Retry-After") != "5" {
		t.Errorf("without the judge: %v", answer)
	}
	assert.Equal(t, before, b.reached.Load(), "without the judge a request reached the site")
}
