package contracts_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/app"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
)

func TestMain(m *testing.M) {
	registerDecoders()
	goleak.VerifyTestMain(m)
}

// notices is the file of the transport on which admissions are published.
const notices = "notices.db"

// office is a running box office on the embedded defaults.
type office struct {
	app  *app.App
	dir  string
	http *http.Client
}

// theOffice starts one for a test.
func theOffice(t *testing.T) *office {
	t.Helper()
	dir := t.TempDir()
	boxtest.Copy(t, filepath.Join(dir, "boxoffice.db"))
	cfg, err := config.Parse([]string{
		"--addr", "127.0.0.1:0", "--data-dir", dir, "--notice-url", "sqlite://" + filepath.Join(dir, notices),
	}, func(string) string { return "" }, app.Schemes(), io.Discard)
	require.NoError(t, err)
	a, err := app.New(cfg, app.Options{
		Gateway:        gateway.Config{MaxLatency: -1, SettleAfter: 3 * time.Second},
		GatewayTimeout: 300 * time.Millisecond,
		Prefetch:       artist.PrefetchConfig{Every: 2 * time.Second, AskedFor: time.Nanosecond},
		Logger:         slog.New(slog.NewTextHandler(&problems{t: t}, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	o := &office{app: a, dir: dir, http: &http.Client{
		Transport: &http.Transport{ExpectContinueTimeout: 10 * time.Second}, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	t.Cleanup(func() {
		o.http.CloseIdleConnections()
		cancel()
		assert.NoError(t, <-done, "the office ended with")
	})
	select {
	case <-a.Ready():
	case err := <-done:
		done <- err
		t.Fatalf("the office did not start: %v", err)
	}
	boxtest.WaitFor(t, "readiness", func() bool {
		res, err := o.http.Get(a.URL() + "/readyz")
		require.NoError(t, err)
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body) // its status says it
		return res.StatusCode == http.StatusOK
	})
	return o
}

// problems shows the office's errors when its test fails.
type problems struct {
	t    *testing.T
	once sync.Once
	mu   sync.Mutex
	text []byte
}

func (p *problems) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, b...)
	p.once.Do(func() {
		p.t.Cleanup(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.t.Failed() {
				_, _ = os.Stderr.Write(p.text)
			}
		})
	})
	return len(b), nil
}
