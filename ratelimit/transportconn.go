package ratelimit

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
	"time"
)

type attemptKey struct{}

// attempt is one RoundTrip, with the permit that its next write spends.
type attempt struct {
	t   *transport
	ctx context.Context
	p   Priority

	mu    sync.Mutex
	lent  *Permit // the caller's, which attempt does not give back
	own   *Permit
	ended bool
	err   error // the reason why nothing was written

	back sync.Mutex // held while a permit is given back, so that end waits for it
}

var errEnded = errors.New("ratelimit: the call is over; nothing was written")

// arm makes the next write to the connection spend the permit of this attempt. http.Transport
// uses a connection for one call at a time, and calls arm before it writes any part of the
// call.
func (a *attempt) arm(info httptrace.GotConnInfo) {
	for c := info.Conn; ; {
		switch v := c.(type) {
		case *conn:
			v.arm(a)
			return
		case interface{ NetConn() net.Conn }: // TLS
			c = v.NetConn()
		default: // never, as long as the transport dials all connections
			_ = info.Conn.Close() // so that nothing is written without a permit
			return
		}
	}
}

// next returns the permit to try, or nil if a new one is needed.
func (a *attempt) next() (*Permit, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return nil, errEnded
	}
	if a.err != nil {
		return nil, a.err
	}
	if a.lent != nil {
		return a.lent, nil
	}
	return a.own, nil
}

// renew replaces a permit that could not be used.
func (a *attempt) renew(ctx context.Context) error {
	p, err := a.t.limiter.Wait(ctx, a.p)
	a.mu.Lock()
	a.lent, a.own = nil, p
	ended := a.ended
	if err != nil && (ctx.Err() == nil || a.ctx.Err() != nil) {
		a.err = err // otherwise the connection broke, and http.Transport may take another
	}
	a.mu.Unlock()
	if err == nil && ended {
		a.giveBack()
		return errEnded
	}
	return err
}

// write runs fn under a valid permit, and renews the permit as often as necessary.
func (a *attempt) write(ctx context.Context, fn func() (bool, error)) error {
	for {
		p, err := a.next()
		if err != nil {
			return err
		}
		if p != nil {
			err = p.use(fn)
			if !errors.Is(err, ErrPermitSpent) {
				return err
			}
		}
		if err := a.renew(ctx); err != nil {
			return err
		}
	}
}

// giveBack returns the attempt's own permit if it is not used.
func (a *attempt) giveBack() {
	a.back.Lock()
	defer a.back.Unlock()
	a.mu.Lock()
	p := a.own
	a.own = nil
	a.mu.Unlock()
	if p == nil {
		return
	}
	if err := p.Return(a.ctx); err != nil {
		a.t.cfg.Logger.WarnContext(a.ctx, "a permit that was not used could not be given back", "error", err)
	}
}

// end ends the round trip: no write happens after it.
func (a *attempt) end() error {
	a.mu.Lock()
	a.ended = true
	err := a.err
	a.mu.Unlock()
	a.giveBack()
	return err
}

// conn checks the permit of a call at its first write, which has the head of the request.
type conn struct {
	net.Conn

	mu     sync.Mutex
	armed  *attempt
	stop   context.CancelFunc // of the wait for a permit
	closed bool
}

func (c *conn) arm(a *attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = a
}

// Write passes on all writes except the first one of a call: a TLS handshake, a CONNECT, the
// rest of a body.
func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	a := c.armed
	c.armed = nil
	c.mu.Unlock()
	if a == nil {
		return c.Conn.Write(b)
	}
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	c.mu.Lock()
	c.stop = cancel
	if c.closed {
		cancel()
	}
	c.mu.Unlock()
	n := 0
	err := a.write(ctx, func() (bool, error) {
		err := c.SetWriteDeadline(time.Now().Add(a.t.cfg.WriteTimeout))
		if err != nil {
			return false, err
		}
		if n, err = c.Conn.Write(b); err != nil {
			return n > 0, err
		}
		return true, c.SetWriteDeadline(time.Time{})
	})
	return n, err
}

// Close also ends the wait for the permit of a write.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	if c.stop != nil {
		c.stop()
	}
	c.mu.Unlock()
	return c.Conn.Close()
}
