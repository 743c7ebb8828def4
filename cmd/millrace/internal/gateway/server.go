package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/queue"
)

// Server is a gate that runs.
type Server struct {
	stores *stores
	ticks  func() (ticks <-chan time.Time, stop func())
	logger *slog.Logger

	visitors, operators net.Listener
	reloading           sync.Mutex
	now                 atomic.Pointer[generation]
	draining            atomic.Bool
}

// Open makes a gate, which admits visitors, and its listeners. Run serves it and closes it.
func Open(ctx context.Context, s Settings) (*Server, error) {
	all, err := openStores(s)
	if err != nil {
		return nil, err
	}
	v := &Server{stores: all, ticks: everySave, logger: s.Logger}
	first, err := newGeneration(all, s, v.draining.Load)
	if err == nil {
		v.visitors, err = listen(ctx, s.Listen)
	}
	if err == nil && s.AdminListen != "" {
		if v.operators, err = listen(ctx, s.AdminListen); err != nil {
			err = errors.Join(err, v.visitors.Close())
		}
	}
	if err != nil {
		return nil, errors.Join(err, all.close())
	}
	first.run()
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
// places are kept: they are the store's. With an error nothing has changed. A store that is
// away is none: the signs of life that it should have got are lost, which Config.Seen covers.
func (v *Server) Reload(s Settings) error {
	v.reloading.Lock()
	defer v.reloading.Unlock()
	if v.draining.Load() {
		return errDraining
	}
	old := v.now.Load()
	if s.fixed() != old.settings.fixed() {
		return errors.New("the listeners, the Redis, its prefix, the state file, the settings file and the event change with a restart only")
	}
	next, err := newGeneration(v.stores, s, v.draining.Load)
	if err != nil {
		return err
	}
	next.run()
	v.now.Store(next)
	if err := old.end(); err != nil {
		s.Logger.Warn("gate: the reload holds, and signs of life of the last minute did not reach the store", slog.Any("error", err))
	}
	return nil
}

// Run serves until ctx ends, and then lets the requests in flight complete.
func (v *Server) Run(ctx context.Context) error {
	stopSaving := v.keepSaving()
	serves, failed := context.WithCancel(ctx)
	defer failed()
	all := []*serving{serve(v.server(func(n *generation) http.Handler { return n.visitors }), v.visitors, failed)}
	if v.operators != nil {
		all = append(all, serve(v.server(func(n *generation) http.Handler { return n.operator }), v.operators, failed))
	}
	<-serves.Done()
	v.draining.Store(true)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
	defer cancel()
	var errs []error
	for _, s := range all { // visitors first: operators see how it goes
		errs = append(errs, s.end(ending))
	}
	v.reloading.Lock()
	defer v.reloading.Unlock()
	stopSaving()
	return errors.Join(append(errs, v.now.Load().end(), v.stores.close())...)
}

// keepSaving saves the rooms from time to time, if they have a file, until stop is called.
func (v *Server) keepSaving() (stop func()) {
	if v.stores.file == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ticks, stopTicks := v.ticks()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		v.stores.file.run(ctx, ticks, func(ctx context.Context) (queue.State, error) {
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
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // from a proxy that has ended TLS
	return &http.Server{
		Protocols:         &protocols,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { of(v.now.Load()).ServeHTTP(w, r) }),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(v.logger.Handler(), slog.LevelDebug), // clients that end in the middle
	}
}
