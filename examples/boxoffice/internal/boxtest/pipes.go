package boxtest

import (
	"context"
	"net"
	"sync"
)

// Pipes is a network in memory, which a synctest bubble can wait for: a server
// listens on it, and clients Dial.
type Pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// NewPipes makes one.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *Pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

// Addr implements net.Listener.
func (p *Pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// Dial connects to any address; it has the form of net.Dialer.DialContext.
func (p *Pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	mine, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return mine, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
