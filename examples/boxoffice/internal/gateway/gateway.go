package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
)

// Gateway is the simulated provider. Its methods may be called concurrently.
type Gateway struct {
	cfg    Config
	ledger *ledger
	wake   signal.Signal // a charge waits for settlement

	quitOnce sync.Once
	quit     chan struct{} // closed when held connections must end
}

// New opens the ledger of cfg.Path and makes its tables when they are missing.
// It starts nothing: serve [Gateway.Handler], and run [Gateway.Run] beside it.
// The caller closes the gateway.
func New(cfg Config) (*Gateway, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l, err := openLedger(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("gateway: open the ledger %s: %w", cfg.Path, err)
	}
	return &Gateway{
		cfg: cfg.withDefaults(), ledger: l,
		wake: signal.New(), quit: make(chan struct{}),
	}, nil
}

// Close ends held connections and closes the ledger. Call it after the server
// has stopped and Run has returned.
func (g *Gateway) Close() error {
	g.release()
	if err := g.ledger.close(); err != nil {
		return fmt.Errorf("gateway: close the ledger: %w", err)
	}
	return nil
}

// Run settles timed-out charges when they are due, until ctx ends; then it closes
// held connections, so that the server can shut down, and returns nil. A failing
// ledger is tried again every second.
func (g *Gateway) Run(ctx context.Context) error {
	defer g.release()
	g.wake.Repeat(ctx, func(ctx context.Context) time.Duration {
		next, waiting, err := g.ledger.settle(ctx, time.Now())
		switch {
		case err != nil:
			return time.Second
		case waiting:
			return max(time.Until(next), time.Millisecond)
		}
		return signal.Never
	})
	return nil
}

// Handler serves the API of the package comment.
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges", g.postCharge)
	mux.HandleFunc("GET /charges/{key}", g.getCharge)
	mux.HandleFunc("POST /charges/{key}/refund", g.postRefund)
	mux.HandleFunc("GET /ledger", g.getTotals)
	mux.HandleFunc("GET /ledger/charges", g.getCharges)
	mux.HandleFunc("GET /healthz", g.getHealth)
	return mux
}

func (g *Gateway) release() { g.quitOnce.Do(func() { close(g.quit) }) }

// latency draws the simulated time of one request.
func (g *Gateway) latency() time.Duration {
	span := g.cfg.MaxLatency - g.cfg.MinLatency
	if span <= 0 {
		return g.cfg.MinLatency
	}
	return g.cfg.MinLatency + rand.N(span+1)
}

// pause waits for simulated time. It ends early only when the service stops.
func (g *Gateway) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.quit:
	}
}
