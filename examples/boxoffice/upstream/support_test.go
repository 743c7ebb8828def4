package upstream

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// childEnv makes the test binary the command, for the benchmarks.
const childEnv = "UPSTREAM_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		os.Exit(Main(context.Background(), strings.Fields(args), os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// staged is a clock that a test sets.
type staged struct {
	mu  sync.Mutex
	now time.Duration
}

func (s *staged) clock() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *staged) set(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

func open(t testing.TB, cfg Config) *Upstream {
	t.Helper()
	if cfg.BodyBytes == 0 {
		cfg.BodyBytes = 3000
	}
	u, err := New(cfg)
	require.NoError(t, err)
	return u
}

// do runs one request through the handler, without a network.
func do(t testing.TB, u *Upstream, method, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	u.Handler().ServeHTTP(rec, req)
	return rec
}

func fault(t testing.TB, u *Upstream, body string) Fault {
	t.Helper()
	rec := do(t, u, "POST", "/_/faults", body)
	var f Fault
	if err := json.Unmarshal(rec.Body.Bytes(), &f); err != nil || rec.Code != http.StatusCreated {
		t.Fatalf("POST /_/faults %s: %d %s %v", body, rec.Code, rec.Body, err)
	}
	return f
}

// document is an artist as a client reads it.
type document struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Level      uint64          `json:"level"`
	UpdatedAt  time.Time       `json:"updatedAt"`
	Attributes json.RawMessage `json:"attributes"`
	History    []struct {
		At         time.Time `json:"at"`
		Venue      string    `json:"venue"`
		Attendance int       `json:"attendance"`
	} `json:"history"`
}

// serveOn serves on ln and returns a client of it. The test ends both.
func serveOn(t testing.TB, u *Upstream, ln net.Listener, dial func(context.Context, string, string) (net.Conn, error)) *http.Client {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- u.Serve(ctx, ln) }()
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 100, DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		assert.NoError(t, <-served)
	})
	return &http.Client{Transport: transport}
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return ln
}

// get returns the status and the body; a body that breaks is an error.
func get(ctx context.Context, c *http.Client, url string, header ...string) (int, []byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, nil, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, body, res.Header, err
}
