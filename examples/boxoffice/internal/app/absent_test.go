package app

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/tcpproxy"
	"github.com/millrace-go/millrace/internal/transporttest"
)

// waits is a log that signals when the office waits for its transport.
type waits chan struct{}

func (w waits) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("the transport does not answer")) {
		select {
		case w <- struct{}{}:
		default:
		}
	}
	return len(line), nil
}

// The office waits for a transport that is absent at the start: it opens when the
// transport is there, and ends at once if it is told to before.
func TestAnAbsentTransportIsWaitedFor(t *testing.T) {
	address, err := tcpproxy.Vacant()
	require.NoError(t, err)
	raw, server := servicetest.Elsewhere(t, transporttest.Redis(t), address)
	begin := func(ctx context.Context) (*App, waits, chan error) {
		cfg := settings(t, "--data-dir", t.TempDir(), "--bus-url", raw)
		boxtest.Copy(t, cfg.DataDir+"/boxoffice.db")
		w, done := make(waits, 1), make(chan error, 1)
		a, err := New(cfg, Options{Gateway: quick(), Logger: slog.New(slog.NewTextHandler(w, nil)), Out: &bytes.Buffer{}})
		require.NoError(t, err)
		go func() { done <- a.Run(ctx) }()
		return a, w, done
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, waiting, done := begin(ctx)
	<-waiting
	cancel()
	require.NoError(t, <-done)

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	a, waiting, done := begin(ctx)
	<-waiting
	p, err := tcpproxy.At(address, server)
	require.NoError(t, err)
	defer p.Close()
	select {
	case <-a.Ready():
	case err := <-done:
		t.Fatal(err)
	}
	cancel()
	require.NoError(t, <-done)
}
