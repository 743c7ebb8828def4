package payment

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// Due payments that another transaction has locked are looked at once in a while, and not all
// the time.
func TestClaimOfLocked(t *testing.T) {
	s, err := store.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "boxoffice.db"))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, s.Close())
	})
	p, err := New(s, nil)
	require.NoError(t, err)
	p.sql.NextDue = `SELECT 0` // SKIP LOCKED, which a file has not
	x, err := NewExecutor(p, NewGateway("http://127.0.0.1:1", time.Second, 1), ExecutorConfig{Holder: "test"})
	require.NoError(t, err)
	if batch, wait, err := x.claim(t.Context(), 1); err != nil || len(batch) > 0 || wait != x.cfg.Look {
		t.Errorf("%d claimed, and the next look after %v: %v", len(batch), wait, err)
	}
}

// A ledger whose pages do not go on is an error, and not read for ever.
func TestLedgerGoesOn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"charges": [{"key": "k"}], "next": 1}`) // the client is this test
	}))
	t.Cleanup(server.Close)
	g := NewGateway(server.URL, time.Second, 1)
	t.Cleanup(g.Close)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	n := 0
	err := g.Charges(ctx, func(Charge) {
		if n++; n > 10 {
			stop()
		}
	})
	if err == nil || n > 2 {
		t.Errorf("%d charges: %v", n, err)
	}
}
