package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/cmd/millrace/internal/gateway"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

func TestMain(m *testing.M) {
	for variable, serve := range map[string]func(string){gateProcess: serveAsChild, sharedGate: serveShared, siteProcess: serveSite} {
		if value := os.Getenv(variable); value != "" {
			serve(value)
			return
		}
	}
	goleak.VerifyTestMain(m)
}

func settings(to string) gateway.Settings {
	return gateway.Settings{
		To: to, Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Event: "sale", Judge: "none", Threshold: 1, Pass: []string{"/static/**"},
		Secrets: []string{strings.Repeat("n", 32)}, Logger: slog.New(slog.DiscardHandler),
	}
}

// site answers with its path, and holds requests of /held until release is closed.
func site(t *testing.T) (at string, held, release chan struct{}) {
	t.Helper()
	held, release = make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/static/held" {
			close(held)
			<-release
		}
		fmt.Fprint(w, "the site at ", r.URL.Path) //nolint:errcheck // the client tells
	}))
	t.Cleanup(s.Close)
	return s.URL, held, release
}

// start runs a gate; stop ends it in order.
func start(t *testing.T, s gateway.Settings) (server *gateway.Server, stop func()) {
	t.Helper()
	server, err := gateway.Open(t.Context(), s)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		assert.NoError(t, <-ended)
	}
	t.Cleanup(stop)
	return server, stop
}

type client struct {
	t *testing.T
	http.Client
	ticket string // kept as the page keeps it, where a test asks for that
}

func visitor(t *testing.T) *client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{t: t, Client: http.Client{Jar: jar, Transport: transport}}
}

// do makes a request, and returns the status and the body.
func (c *client) do(method, url, body string) (int, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if c.ticket != "" {
		r.Header.Set(queuehttp.TicketHeader, c.ticket)
	}
	answer, err := c.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func (c *client) want(status int, text, method, url, body string) {
	c.t.Helper()
	if got, said := c.do(method, url, body); got != status || !strings.Contains(said, text) {
		c.t.Errorf("%s %s: %d %.300s, want %d with %q", method, url, got, said, status, text)
	}
}

func TestServes(t *testing.T) {
	at, _, _ := site(t)
	server, _ := start(t, settings(at))
	home := "http://" + server.Addr()
	first, second := visitor(t), visitor(t)
	for _, c := range []*client{first, second} {
		c.want(503, "sale", "GET", home+"/", "")
	}
	first.want(200, "the site at /", "GET", home+"/", "")
	second.want(503, "sale", "GET", home+"/", "")
	second.want(200, "the site at /static/a", "GET", home+"/static/a", "")
	second.want(200, `"position":1`, "POST", home+"/millrace-gate/check/sale", "")
	first.want(204, "", "POST", home+"/millrace-gate/leave/sale", "")
}

// A proxy before the gate may speak HTTP/2 to it, as Envoy does.
func TestServesHTTP2(t *testing.T) {
	at, _, _ := site(t)
	server, _ := start(t, settings(at))
	v := visitor(t)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	v.Transport.(*http.Transport).Protocols = &protocols
	home := "http://" + server.Addr()
	v.want(503, "sale", "GET", home+"/", "")
	v.want(200, "the site at /", "GET", home+"/", "")
	v.want(200, "the site at /pay", "POST", home+"/pay", "a body")
	answer, err := v.Get(home + "/seats")
	require.NoError(t, err)
	defer answer.Body.Close() //nolint:errcheck // nothing is left to be read
	assert.Equal(t, "HTTP/2.0", answer.Proto, "the gate speaks")
}

func TestAdmin(t *testing.T) {
	at, _, _ := site(t)
	server, _ := start(t, settings(at))
	v := visitor(t)
	v.want(503, "", "GET", "http://"+server.Addr()+"/", "")
	v.want(200, "", "GET", "http://"+server.Addr()+"/", "")
	op := "http://" + server.AdminAddr()
	v.want(200, "ok", "GET", op+"/healthz", "")
	v.want(200, "ready", "GET", op+"/readyz", "")
	v.want(200, `"currentUsers":1`, "GET", op+"/room", "")
	v.want(200, "minute,joined,admitted", "GET", op+"/room/figures", "")
	v.want(200, "Figures of sale", "GET", op+"/room/plot", "")
	v.want(200, `"threshold":7`, "PUT", op+"/room/threshold", `{"threshold": 7}`)
	v.want(200, `"paused":true`, "POST", op+"/room/pause", "")
	v.want(200, `"paused":false`, "POST", op+"/room/resume", "")
	v.want(200, `"currentUsers":0`, "POST", op+"/room/clear", "")
	for _, series := range []string{`millrace_gate_requests_total{outcome="waited"} 1`, `millrace_gate_requests_total{outcome="inside"} 1`, `millrace_gate_open_requests 0`, `millrace_queue_waiting{event="sale"}`, `millrace_gate_origin_failures_total 0`,
		`millrace_keyed_limiter_calls_total{limiter="joins",result="allowed"} 0`, `millrace_keyed_limiter_alone_total{limiter="joins"} 0`} {
		v.want(200, series, "GET", op+"/metrics", "")
	}
	for _, path := range []string{"/metrics", "/room", "/readyz"} {
		visitor(t).want(503, "<html", "GET", "http://"+server.Addr()+path, "") // they are the site's there
	}
}

func TestReload(t *testing.T) {
	at, _, _ := site(t)
	s := settings(at)
	server, _ := start(t, s)
	home := "http://" + server.Addr()
	inside, waiting := visitor(t), visitor(t)
	for _, c := range []*client{inside, waiting, inside, waiting} {
		c.do("GET", home+"/", "")
	}
	waiting.want(503, "sale", "GET", home+"/", "")
	wrong := s
	wrong.Wait = []string{"nowhere"}
	if err := server.Reload(wrong); err == nil || !strings.Contains(err.Error(), "Config.Wait") {
		t.Errorf("a wrong pattern: %v", err)
	}
	wrong = s
	wrong.Event = "other"
	if err := server.Reload(wrong); err == nil || !strings.Contains(err.Error(), "restart") {
		t.Errorf("another event: %v", err)
	}
	s.Secrets = []string{strings.Repeat("m", 32), s.Secrets[0]}
	s.Pass = []string{"/assets/**"}
	require.NoError(t, server.Reload(s))
	inside.want(200, "the site at /seats", "GET", home+"/seats", "")
	waiting.want(503, "sale", "GET", home+"/", "")
	waiting.want(200, `"position":1`, "POST", home+"/millrace-gate/check/sale", "")
	waiting.want(503, "sale", "GET", home+"/static/a", "")
	waiting.want(200, "the site at /assets/a", "GET", home+"/assets/a", "")
	s.Threshold, s.Challenge = 2, true
	require.NoError(t, server.Reload(s))
	late := visitor(t)
	late.want(503, "", "GET", home+"/", "")
	late.want(403, "challenge-needed", "POST", home+"/millrace-gate/check/sale", "")
	waiting.want(200, `"`, "POST", home+"/millrace-gate/check/sale", "")
	visitor(t).want(200, `"threshold":2`, "GET", "http://"+server.AdminAddr()+"/room", "")
	s.Secrets = s.Secrets[:1] // cookies of the old one are worth nothing now
	require.NoError(t, server.Reload(s))
	inside.want(429, "place-needed", "POST", home+"/seats", "")
}

// A SIGHUP may come before the gate runs, and while it ends.
func TestReloadBeforeAndAfter(t *testing.T) {
	at, _, _ := site(t)
	server, err := gateway.Open(t.Context(), settings(at))
	if err == nil {
		err = server.Reload(settings(at))
	}
	if err == nil {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err = server.Run(ctx)
	}
	require.NoError(t, err)
	assert.Error(t, server.Reload(settings(at)), "a gate that has ended began again")
}

// A reload while Redis is away holds, and says that signs of life are lost: it is no mistake
// of the operator's.
func TestReloadWhileRedisIsAway(t *testing.T) {
	at, _, _ := site(t)
	redis, err := url.Parse(servicetest.Redis(t))
	require.NoError(t, err)
	between := proxytest.Start(t, redis.Host)
	redis.Host = between.Addr()
	s := settings(at)
	s.Redis, s.Prefix = redis.String(), "t"+uuid.NewString()[:8]+":"
	server, stop := start(t, s)
	home := "http://" + server.Addr()
	visitor(t).do("GET", home+"/", "")
	check := func(c *client) {
		c.do("GET", home+"/", "")
		_, said := c.do("POST", home+"/millrace-gate/check/sale", "")
		var place struct{ Ticket string }
		if err := json.Unmarshal([]byte(said), &place); err != nil || place.Ticket == "" {
			t.Fatalf("%s: %v", said, err)
		}
		c.ticket = place.Ticket
	}
	inside, first, second := visitor(t), visitor(t), visitor(t)
	check(inside)
	check(first)
	check(second)
	for seen := false; !seen; time.Sleep(50 * time.Millisecond) { // until a snapshot has the line
		first.want(200, `"position":1`, "POST", home+"/millrace-gate/check/sale", "")
		_, counts := visitor(t).do("GET", "http://"+server.AdminAddr()+"/metrics", "")
		seen = strings.Contains(counts, `millrace_queue_polls_total{source="snapshot"}`) && !strings.Contains(counts, `millrace_queue_polls_total{source="snapshot"} 0`)
	}
	between.Refuse(true)
	second.want(200, `"position":2`, "POST", home+"/millrace-gate/check/sale", "") // its sign of life waits for Redis
	var log bytes.Buffer
	s.Threshold, s.Logger = 2, slog.New(slog.NewTextHandler(&log, nil))
	assert.NoError(t, server.Reload(s), "the reload")
	between.Refuse(false)
	visitor(t).want(200, `"threshold":2`, "GET", "http://"+server.AdminAddr()+"/room", "")
	visitor(t).want(200, "", "POST", "http://"+server.AdminAddr()+"/room/clear", "")
	stop()
	assert.Contains(t, log.String(), "signs of life", "the log says nothing of the signs of life")
}

func TestShutdownDrains(t *testing.T) {
	at, held, release := site(t)
	server, stop := start(t, settings(at))
	answered := make(chan string, 1)
	c := visitor(t)
	go func() {
		_, text := c.do("GET", "http://"+server.Addr()+"/static/held", "")
		answered <- text
	}()
	<-held
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	select {
	case <-stopped:
		t.Fatal("the gate ended with a request in flight")
	default:
	}
	close(release)
	assert.Equal(t, "the site at /static/held", <-answered)
	<-stopped
}

// Two gates after each other on one Redis: a visitor inside stays inside, and the line is
// as it was.
func TestRestartOnRedis(t *testing.T) {
	at, _, _ := site(t)
	s := settings(at)
	s.Redis, s.Prefix = servicetest.Redis(t), "t"+uuid.NewString()[:8]+":"
	server, stop := start(t, s)
	inside, waiting := visitor(t), visitor(t)
	for _, c := range []*client{inside, waiting, inside, waiting} {
		c.do("GET", "http://"+server.Addr()+"/", "")
	}
	s.Listen = server.Addr()
	stop()
	server, _ = start(t, s)
	home := "http://" + server.Addr()
	inside.want(200, "the site at /", "GET", home+"/", "")
	waiting.want(200, `"position":1`, "POST", home+"/millrace-gate/check/sale", "")
	visitor(t).want(200, `"queueSize":0`, "POST", "http://"+server.AdminAddr()+"/room/clear", "")
}

// Two gates on one Redis count the joins of an address together.
func TestJoinRateIsShared(t *testing.T) {
	at, _, _ := site(t)
	s := settings(at)
	s.Redis, s.Prefix = servicetest.Redis(t), "t"+uuid.NewString()[:8]+":"
	s.Joins = &queuehttp.JoinRates{Networks: map[netip.Prefix]queuehttp.JoinRate{netip.MustParsePrefix("127.0.0.0/8"): {PerSecond: 1, Burst: 3}}}
	var homes []string
	for range 2 {
		server, _ := start(t, s)
		homes = append(homes, "http://"+server.Addr())
	}
	began, joined := time.Now(), 0
	for i := range 12 {
		v := visitor(t)
		v.do("GET", homes[i%2]+"/", "")
		status, text := v.do("POST", homes[i%2]+"/millrace-gate/check/sale", "")
		switch {
		case status == 200:
			joined++
		case status != 429 || !strings.Contains(text, "too-many-joins"):
			t.Errorf("%d %s", status, text)
		}
	}
	if most := 3 + int(time.Since(began)/time.Second) + 1; joined < 3 || joined > most {
		t.Errorf("%d joined, want 3 to %d", joined, most)
	}
	server, _ := start(t, s)
	visitor(t).want(200, `"queueSize":0`, "POST", "http://"+server.AdminAddr()+"/room/clear", "")
}

func TestOpenRefuses(t *testing.T) {
	for want, change := range map[string]func(*gateway.Settings){
		"Config.Origin":  func(s *gateway.Settings) { s.To = "127.0.0.1" },
		"Config.Pass":    func(s *gateway.Settings) { s.Pass = []string{"static"} },
		"such as fd:3":   func(s *gateway.Settings) { s.Listen = "fd:2" },
		"handed over as": func(s *gateway.Settings) { s.AdminListen = "fd:999" },
		"listen tcp":     func(s *gateway.Settings) { s.AdminListen = "127.0.0.1:99999" },
		"secret 1 of 1":  func(s *gateway.Settings) { s.Secrets = []string{"short"} },
		"Config.Active":  func(s *gateway.Settings) { s.Active = -1 },
		"brace, a space": func(s *gateway.Settings) { s.Redis, s.Prefix = "redis://127.0.0.1:1/0", "a{b" },
		"neither redis":  func(s *gateway.Settings) { s.Redis = "http://127.0.0.1" },
	} {
		s := settings("http://127.0.0.1:1")
		change(&s)
		if _, err := gateway.Open(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// TestSettingsOutliveTheRoom: a paused gate is paused in a room that is new, until it is
// resumed, and the file names the operator. So are the shares of lanes.
func TestSettingsOutliveTheRoom(t *testing.T) {
	at, _, _ := site(t)
	s := settings(at)
	s.Kept, s.Lanes = filepath.Join(t.TempDir(), "settings.json"), []queue.Lane{{Name: "gold", Share: 0.3}}
	server, stop := start(t, s)
	operator := visitor(t)
	operator.want(200, `"shares":{"gold":0.3}`, "GET", "http://"+server.AdminAddr()+"/room", "")
	operator.want(200, `"shares":{"gold":0.4}`, "PUT", "http://"+server.AdminAddr()+"/room/shares", `{"shares": {"gold": 0.4}}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+server.AdminAddr()+"/room/pause", nil)
	require.NoError(t, err)
	req.Header.Set("X-Operator", "kim")
	req.Header.Set("X-Reason", "a fire alarm")
	resp, err := operator.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", resp, err)
	}
	require.NoError(t, resp.Body.Close())
	stop()
	kept, err := os.ReadFile(s.Kept)
	if err != nil || !strings.Contains(string(kept), `"by": "kim"`) || !strings.Contains(string(kept), `"why": "a fire alarm"`) {
		t.Fatalf("the file has %s, %v", kept, err)
	}

	server, _ = start(t, s) // its memory knows nothing
	home, c := "http://"+server.Addr(), visitor(t)
	for range 3 {
		c.want(503, "sale", "GET", home+"/", "")
	}
	operator.want(200, `"paused":true`, "GET", "http://"+server.AdminAddr()+"/room", "")
	operator.want(200, `"shares":{"gold":0.4}`, "GET", "http://"+server.AdminAddr()+"/room", "")
	operator.want(200, `"paused":false`, "POST", "http://"+server.AdminAddr()+"/room/resume", "")
	c.want(204, "", "POST", home+"/millrace-gate/leave/sale", "")
	c.want(200, "the site at /", "GET", home+"/", "")
}
