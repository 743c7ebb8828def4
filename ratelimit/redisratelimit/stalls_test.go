package redisratelimit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// TestWaitOverABadNetwork repeatedly stalls the connection to Redis for longer than the
// limiter's timeout: no wait ends. Then Redis is stopped, and the open breaker ends all waits.
func TestWaitOverABadNetwork(t *testing.T) {
	server := redistest.StartServer(t)
	network := proxytest.Start(t, server.Address)
	store := newStore(t, open(t, "redis://"+network.Addr()), name(t, open(t, server.URL())))
	l, err := ratelimit.New(store, ratelimit.Config{Limits: ratelimit.Limits{HardLimit: 500, Rate: 400, LowRate: 300, Delay: 50 * time.Millisecond}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var served atomic.Int64
	ended := make(chan error, 40)
	for w := range cap(ended) {
		wg.Go(func() {
			for {
				if _, err := l.Wait(ctx, driver.Priority(w%2)); err != nil {
					ended <- err
					return
				}
				served.Add(1)
			}
		})
	}
	next := func(what string, more int64) {
		t.Helper()
		limit := time.Now().Add(30 * time.Second)
		for want := served.Load() + more; served.Load() < want; {
			select {
			case err := <-ended:
				t.Fatalf("%s ended a wait: %v", what, err)
			case <-time.After(time.Millisecond):
				if time.Now().After(limit) {
					t.Fatalf("%s: %d more were to be served", what, want-served.Load())
				}
			}
		}
	}
	next("the start", 50)
	for range 5 {
		network.Stall(true)
		select { // longer than Config.Timeout, 100 ms
		case err := <-ended:
			t.Fatalf("a stall ended a wait: %v", err)
		case <-time.After(130 * time.Millisecond):
		}
		network.Stall(false)
		next("a stall", 50)
	}
	network.Refuse(true)
	wg.Wait()
	close(ended)
	for err := range ended {
		if !errors.Is(err, ratelimit.ErrUnavailable) || fault.Of(err) != fault.Infrastructure {
			t.Errorf("a wait ended with %v, want ErrUnavailable", err)
		}
	}
	if state := l.Stats().Breaker; state != "open" {
		t.Errorf("the breaker is %s when the waits have ended", state)
	}
}
