package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
)

// As many workers as can be configured keep within the limit.
func TestLimits(t *testing.T) {
	for workers := 1; workers <= config.MaxWorkers; workers++ {
		plan, err := limits(workers).Plan()
		require.NoErrorf(t, err, "%d workers", workers)
		if plan.Rate != 450 || plan.LowRate != 350 || plan.Burst < 1 {
			t.Errorf("%d workers: %+v", workers, plan)
		}
	}
}

// A call counts once it was written: a refused connection is no call.
func TestCountedCalls(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			http.Redirect(w, r, "/second", http.StatusFound)
		}
	}))
	transport := &http.Transport{}
	client := &http.Client{Transport: counted{next: transport, count: func() { calls.Add(1) }}}
	get := func(path string) error {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		require.NoError(t, err)
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		return res.Body.Close()
	}
	assert.NoError(t, get("/first"))
	// The answer may arrive before its call is known to be written.
	boxtest.WaitFor(t, "a call and its redirect", func() bool { return calls.Load() == 2 }, func() string { return fmt.Sprint(calls.Load()) })
	transport.CloseIdleConnections()
	server.Close()
	if err := get("/third"); err == nil || calls.Load() != 2 {
		t.Errorf("a call to nobody counted: %d, %v", calls.Load(), err)
	}
}
