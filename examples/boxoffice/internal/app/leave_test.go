package app

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
)

// A process that was asked to end reports itself as not ready, and still serves
// requests: on existing connections, which it closes one by one, and on new ones.
func TestLeave(t *testing.T) {
	t.Parallel()
	const lasts = 15 * time.Second // in which all is asked
	p := start(t, "--data-dir", t.TempDir(), "--leave-seconds", "15")
	p.ready()
	get := func(client *http.Client, path string) (status int, closes bool) {
		t.Helper()
		res, err := client.Get(p.app.URL() + path)
		require.NoErrorf(t, err, "%s", path)
		_, _ = io.Copy(io.Discard, res.Body) // only the status is checked
		_ = res.Body.Close()
		return res.StatusCode, res.Close
	}
	dials := 0
	kept := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials++
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}}
	defer kept.CloseIdleConnections()
	if _, closes := get(kept, "/healthz"); closes {
		t.Error("a connection is closed while nobody wants the process to end")
	}
	asked := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- p.stop() }()
	boxtest.WaitFor(t, "to be turned away", func() bool {
		status, _ := get(p.http, "/readyz")
		return status == http.StatusServiceUnavailable
	})
	for range 2 {
		if status, closes := get(kept, "/api/shows"); status != http.StatusOK || !closes {
			t.Errorf("%d, closes %v", status, closes)
		}
	}
	assert.Equal(t, 2, dials, "connections, want the one from before, and another")
	if status, _ := get(p.http, "/healthz"); status != http.StatusOK {
		t.Error("the process is not alive, though it serves")
	}
	assert.NoError(t, <-ended)
	if took := time.Since(asked); took < lasts {
		t.Errorf("it ended after %v", took)
	}
}

// When a part fails meanwhile, the process ends at once.
func TestLeaveEndsWithAPart(t *testing.T) {
	t.Parallel()
	s := &server{log: slog.New(slog.DiscardHandler)}
	run := newStages(time.Second)
	run.start("part", func(context.Context) error { return io.ErrUnexpectedEOF })
	s.leave(time.Hour, run)
	if !s.leaving.Load() || run.stop() == nil {
		t.Error("nothing is told")
	}
}
