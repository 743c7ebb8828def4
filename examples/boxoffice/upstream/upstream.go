package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// drainFor bounds the graceful end: simulated time is cut short by then, and only the
// sending of a body remains.
const drainFor = 10 * time.Second

// Upstream is the simulated artist API. Its methods may be called concurrently.
type Upstream struct {
	cfg       Config
	gate      *gate
	bodies    *bodies
	revisions *revisions
	rules     *rules
	control   http.Handler
}

// New prepares an upstream. It starts nothing: call [Upstream.Serve].
func New(cfg Config) (*Upstream, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	u := &Upstream{
		cfg: cfg, gate: newGate(cfg), bodies: newBodies(cfg.BodyBytes),
		revisions: newRevisions(cfg), rules: newRules(),
	}
	u.control = u.routes()
	return u, nil
}

// Handler serves the API of the package comment. Under a server of the
// caller's own, calls arrive when the handler begins, which is later and less
// exact than under [Upstream.Serve]; Stats counts them as late.
func (u *Upstream) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.RequestURI, controlPrefix) {
			u.control.ServeHTTP(w, r)
			return
		}
		u.call(w, r)
	})
}

// Serve answers on ln until ctx ends. Then it cuts simulated latency short,
// lets running requests finish, and returns nil. It closes ln.
func (u *Upstream) Serve(ctx context.Context, ln net.Listener) error {
	// No WriteTimeout: an answer takes as long as it was ordered to.
	server := &http.Server{
		Handler: u.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: withConn,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener{Listener: ln, gate: u.gate}) }()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("upstream: serve: %w", err), server.Close())
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
	defer cancel()
	err := server.Shutdown(drain)
	if err != nil {
		err = errors.Join(fmt.Errorf("upstream: requests still ran after %v: %w", drainFor, err), server.Close())
	}
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("upstream: serve: %w", end))
	}
	return err
}
