package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/ratelimit/keyed"
)

// drainFor is how long requests in flight have when the program ends.
const drainFor = 30 * time.Second

// Server is a gate that runs.
type Server struct {
	store   queue.Store
	file    *stateFile // nil without Settings.State
	joins   *keyed.Limiter
	ticks   func() (ticks <-chan time.Time, stop func())
	closing func() error
	logger  *slog.Logger

	visitors, operators net.Listener
	reloading           sync.Mutex
	now                 atomic.Pointer[generation]
	draining            atomic.Bool
}

// Open makes a gate and its listeners. Run serves it and closes it.
func Open(ctx context.Context, s Settings) (*Server, error) {
	store, file, joins, closing, err := openStore(s)
	if err != nil {
		return nil, err
	}
	v := &Server{store: store, file: file, joins: joins, ticks: everySave, closing: closing, logger: s.Logger}
	first, err := newGeneration(store, joins, s, v.draining.Load, file)
	if err == nil {
		v.visitors, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen)
	}
	if err == nil && s.AdminListen != "" {
		if v.operators, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.AdminListen); err != nil {
			err = errors.Join(err, v.visitors.Close())
		}
	}
	if err != nil {
		return nil, errors.Join(err, closing())
	}
	v.now.Store(first)
	return v, nil
}

// Addr is where visitors, or the proxy that asks the judge, reach the gate.
func (v *Server) Addr() string { return v.visitors.Addr().String() }

// AdminAddr is where operators reach the gate; empty without a listener of theirs.
func (v *Server) AdminAddr() string {
	if v.operators == nil {
		return ""
	}
	return v.operators.Addr().String()
}

// Reload goes on with other settings. Requests in flight end as they began, and all
// places are kept: they are the store's. With an error nothing has changed.
func (v *Server) Reload(s Settings) error {
	v.reloading.Lock()
	defer v.reloading.Unlock()
	old := v.now.Load()
	if s.fixed() != old.settings.fixed() {
		return errors.New("the listeners, the Redis, its prefix, the state file and the event change with a restart only")
	}
	next, err := newGeneration(v.store, v.joins, s, v.draining.Load, v.file)
	if err != nil {
		return err
	}
	if err := next.run(); err != nil {
		return err
	}
	v.now.Store(next)
	return old.end()
}

// Run serves until ctx ends, and then lets the requests in flight complete.
func (v *Server) Run(ctx context.Context) error {
	if err := v.now.Load().run(); err != nil {
		return errors.Join(err, v.closing())
	}
	stopSaving := v.keepSaving()
	servers := []*http.Server{v.server(func(n *generation) http.Handler { return n.visitors })}
	listeners := []net.Listener{v.visitors}
	if v.operators != nil {
		servers = append(servers, v.server(func(n *generation) http.Handler { return n.operator }))
		listeners = append(listeners, v.operators)
	}
	ended := make(chan error, len(servers))
	for i, server := range servers {
		go func() { ended <- server.Serve(listeners[i]) }()
	}
	var errs []error
	left := len(servers)
	select {
	case <-ctx.Done():
	case err := <-ended:
		errs = append(errs, err)
		left--
	}
	v.draining.Store(true)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
	defer cancel()
	for _, server := range servers { // visitors first: operators see how it goes
		if err := server.Shutdown(ending); err != nil {
			errs = append(errs, fmt.Errorf("requests were still open after %s: %w", drainFor, err), server.Close())
		}
	}
	for range left {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, err)
		}
	}
	v.reloading.Lock()
	defer v.reloading.Unlock()
	stopSaving()
	return errors.Join(append(errs, v.now.Load().end(), v.closing())...)
}

// keepSaving saves the rooms from time to time, if they have a file, until stop is called.
func (v *Server) keepSaving() (stop func()) {
	if v.file == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ticks, stopTicks := v.ticks()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		v.file.run(ctx, ticks, func(ctx context.Context) (queue.State, error) {
			n := v.now.Load()
			return n.room.State(ctx, n.settings.Event)
		})
	}()
	return func() {
		cancel()
		<-ended
		stopTicks()
	}
}

func everySave() (ticks <-chan time.Time, stop func()) {
	t := time.NewTicker(saveEvery)
	return t.C, t.Stop
}

func (v *Server) server(of func(*generation) http.Handler) *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { of(v.now.Load()).ServeHTTP(w, r) }),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(v.logger.Handler(), slog.LevelDebug), // clients that end in the middle
	}
}
