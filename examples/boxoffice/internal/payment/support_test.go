package payment_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/internal/backoff"
)

func TestMain(m *testing.M) { boxtest.Main(m) }

// timeout of calls to the gateway in these tests.
const timeout = 300 * time.Millisecond

// bank is the simulated gateway behind something that can fail.
type bank struct {
	url   string
	calls atomic.Int64
	// fault decides about each call: before the gateway sees it, or instead of
	// its answer. Nil lets all pass.
	fault atomic.Pointer[func(r *http.Request) failure]
	// answer, when set, is given to every call in place of the gateway's.
	answer atomic.Pointer[string]
}

type failure int

const (
	none          failure = iota
	lostRequest           // the gateway never hears of it
	lostAnswer            // the gateway did it, and the answer was lost
	serverError           // 503
	deniedInvalid         // 422
	deniedKey             // 409
)

func (b *bank) set(f func(r *http.Request) failure) { b.fault.Store(&f) }

// failInTurn fails the next requests, of one method if it is not "".
func (b *bank) failInTurn(method string, all ...failure) {
	next := make(chan failure, len(all))
	for _, f := range all {
		next <- f
	}
	b.set(func(r *http.Request) failure {
		if method != "" && r.Method != method {
			return none
		}
		select {
		case f := <-next:
			return f
		default:
			return none
		}
	})
}

func newBank(t *testing.T) *bank {
	t.Helper()
	g, err := gateway.New(gateway.Config{Path: filepath.Join(t.TempDir(), "ledger.db"), MaxLatency: -1, SettleAfter: 2 * timeout})
	require.NoError(t, err)
	b := &bank{}
	real := g.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := none
		if fault := b.fault.Load(); fault != nil {
			f = (*fault)(r)
		}
		b.calls.Add(1)
		if text := b.answer.Load(); text != nil {
			io.WriteString(w, *text)
			return
		}
		switch f {
		case lostRequest:
			panic(http.ErrAbortHandler)
		case lostAnswer:
			real.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case serverError:
			w.WriteHeader(http.StatusServiceUnavailable)
		case deniedInvalid:
			w.WriteHeader(http.StatusUnprocessableEntity)
		case deniedKey:
			w.WriteHeader(http.StatusConflict)
		default:
			real.ServeHTTP(w, r)
		}
	}))
	b.url = server.URL
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx) }) //nolint:errcheck // returns nil
	t.Cleanup(func() {
		cancel()
		running.Wait()
		server.Close()
		assert.NoError(t, g.Close())
	})
	return b
}

// ledger asks the gateway for its totals.
func (b *bank) ledger(t *testing.T) payment.Ledger {
	t.Helper()
	g := payment.NewGateway(b.url, 10*time.Second, 1)
	defer g.Close()
	l, err := g.Ledger(t.Context())
	require.NoError(t, err)
	return l
}

// execute runs an executor until stop is called.
func execute(t *testing.T, b *boxtest.Box, url string, change func(*payment.ExecutorConfig)) (x *payment.Executor, stop func()) {
	t.Helper()
	return executeWithin(t, b, url, timeout, change)
}

// executeWithin is execute with a timeout of its calls.
func executeWithin(t *testing.T, b *boxtest.Box, url string, timeout time.Duration, change func(*payment.ExecutorConfig)) (x *payment.Executor, stop func()) {
	t.Helper()
	g := payment.NewGateway(url, timeout, 8)
	cfg := payment.ExecutorConfig{Holder: "test", Retry: backoff.Policy{Initial: 20 * time.Millisecond, Max: 200 * time.Millisecond}}
	if change != nil {
		change(&cfg)
	}
	x, err := payment.NewExecutor(b.Payments, g, cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			assert.NoError(t, <-done, "the executor ended with")
			g.Close()
		})
	}
	t.Cleanup(stop)
	return x, stop
}

// settled waits until the payment is in the state and its event is in the box's
// outbox.
func settled(t *testing.T, b *boxtest.Box, id, status string) {
	t.Helper()
	event := map[string]string{payment.Success: events.PaymentSuccess, payment.Failed: events.PaymentFailed, payment.Refunded: events.PaymentRefunded}[status]
	boxtest.WaitFor(t, "payment "+id+" to be "+status, func() bool {
		return b.Query(t, `SELECT status FROM payments WHERE payment_id = $1`, id) == status && b.Outbox.Saw(event, id)
	})
}
