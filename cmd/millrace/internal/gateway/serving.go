package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// drainFor is how long requests in flight have when the program ends.
	drainFor = 30 * time.Second
	// arriveFor is how long a connection has for a request that is on its way then.
	arriveFor = 5 * time.Second
)

// serving is a listener that is served.
type serving struct {
	server   *http.Server
	listener net.Listener
	open     connections
	done     chan struct{} // Serve has returned
	err      error         // and with what
}

// serve serves the listener until end is called, and calls ended if it fails before.
func serve(server *http.Server, listener net.Listener, ended func()) *serving {
	s := &serving{server: server, listener: listener, done: make(chan struct{})}
	server.ConnState = s.open.follow
	go func() {
		defer ended()
		defer close(s.done)
		s.err = server.Serve(listener)
	}()
	return s
}

// end takes no more connections, and lets the requests of those that are open complete.
// http.Server.Shutdown by itself cuts a connection whose request comes after its call.
func (s *serving) end(ctx context.Context) error {
	_ = s.listener.Close() // Serve returns with it
	<-s.done
	var errs []error
	if !errors.Is(s.err, net.ErrClosed) {
		errs = append(errs, s.err)
	}
	s.server.SetKeepAlivesEnabled(false)
	late := time.NewTimer(arriveFor)
	defer late.Stop()
	select {
	case <-s.open.gone():
	case <-late.C: // streams, and connections that browsers keep in reserve
	case <-ctx.Done():
	}
	if err := s.server.Shutdown(ctx); err != nil {
		errs = append(errs, fmt.Errorf("requests were still open after %s: %w", drainFor, err), s.server.Close())
	}
	return errors.Join(errs...)
}

// connections are those that a server has open. The zero value is ready.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]struct{}
	none chan struct{} // closed when there are none any more; nil as long as no one waits
}

// follow is a hook of http.Server.
func (c *connections) follow(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		if c.open == nil {
			c.open = map[net.Conn]struct{}{}
		}
		c.open[conn] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
		if c.none != nil && len(c.open) == 0 {
			close(c.none)
			c.none = nil
		}
	}
}

// gone is closed when the last connection has ended. No new ones may come, and it is
// called once.
func (c *connections) gone() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	none := make(chan struct{})
	if len(c.open) == 0 {
		close(none)
	} else {
		c.none = none
	}
	return none
}
