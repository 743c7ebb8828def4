package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
)

// stages are parts that run, and end one after the other, last started first.
type stages struct {
	drain time.Duration
	parts []*part

	once sync.Once
	fail chan struct{} // closed when a part ends by itself
}

// part is something that runs until its context ends.
type part struct {
	name string
	stop func()
	done chan struct{}
	err  error // valid once done is closed
}

func newStages(drain time.Duration) *stages {
	return &stages{drain: drain, fail: make(chan struct{})}
}

// start runs fn until it is the part's turn to end. If fn ends earlier, everything
// ends.
func (s *stages) start(name string, fn func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &part{name: name, stop: cancel, done: make(chan struct{})}
	s.parts = append(s.parts, p)
	go func() {
		defer close(p.done)
		p.err = fn(ctx)
		if ctx.Err() == nil {
			if p.err == nil {
				p.err = errors.New("it ended by itself")
			}
			s.once.Do(func() { close(s.fail) })
		}
	}()
}

// failed is closed when a part has ended by itself.
func (s *stages) failed() <-chan struct{} { return s.fail }

// stop ends the parts, each after the one before it has ended, and returns
// their errors.
func (s *stages) stop() error {
	var errs []error
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := s.parts[i]
		p.stop()
		<-p.done
		if p.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, p.err))
		}
	}
	s.parts = nil
	return errors.Join(errs...)
}

// serveHTTP is a part that serves until its end, and then lets requests finish.
func (s *stages) serveHTTP(name string, server *http.Server, ln net.Listener) {
	s.start(name, func(ctx context.Context) error {
		served := make(chan error, 1)
		go func() { served <- server.Serve(ln) }()
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
		}
		drain, cancel := context.WithTimeout(context.Background(), s.drain)
		defer cancel()
		err := server.Shutdown(drain)
		if err != nil {
			err = errors.Join(fmt.Errorf("requests were still running after %v: %w", s.drain, err), server.Close())
		}
		<-served //nolint:errcheck // Shutdown's or Close's own ErrServerClosed
		return err
	})
}

// serveGateway runs the simulated gateway on a loopback port of its own and
// returns its URL.
func (s *stages) serveGateway(g *gateway.Gateway) (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("the simulated gateway found no port: %w", err)
	}
	// Its server ends after Run, which closes held connections.
	s.serveHTTP("gateway server", &http.Server{Handler: g.Handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}, ln)
	s.start("gateway", g.Run)
	return "http://" + ln.Addr().String(), nil
}
