package upstream

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// controlPrefix is how the paths that are not calls begin.
const controlPrefix = "/_/"

// listener wraps the connections it accepts.
type listener struct {
	net.Listener
	gate *gate
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(c, l.gate), nil
}

// conn takes the time of a call where its first bytes are read. It recognises those
// bytes without parsing: on a connection without pipelining, the first bytes read
// after the connection began, or after a write, begin a request. The handler takes
// the ticket; a request without one was pipelined and arrives there, late.
//
// As with any net.Conn under net/http, one goroutine reads at a time.
type conn struct {
	net.Conn
	gate  *gate
	wrote atomic.Bool // since the last request began

	start []byte // of a request, until it can be told apart
	ahead []byte // read and not yet handed on
	store [512]byte

	mu     sync.Mutex
	ticket ticket
	have   bool
}

func newConn(c net.Conn, g *gate) *conn {
	wrapped := &conn{Conn: c, gate: g}
	wrapped.wrote.Store(true)
	return wrapped
}

// Read passes on the bytes of the connection. net/http watches a connection between
// requests with a buffer of one byte; this reads on in a buffer of its own then,
// because a call is only told from a control request by its path.
func (c *conn) Read(p []byte) (int, error) {
	for len(c.ahead) == 0 {
		n, err := c.Conn.Read(c.store[len(c.start):])
		c.start = c.store[:len(c.start)+n]
		if n > 0 && c.told() {
			c.ahead, c.start = c.start, nil
			break // an error comes again with the next read
		}
		if err != nil {
			// A deadline in the middle of these few bytes does not lose them.
			if ne, ok := err.(net.Error); !ok || !ne.Timeout() { //nolint:errorlint // net's own, as net/http looks at it
				c.ahead, c.start = c.start, nil
				if len(c.ahead) > 0 {
					break
				}
			}
			return 0, err
		}
	}
	n := copy(p, c.ahead)
	c.ahead = c.ahead[n:]
	return n, nil
}

// told reports whether the bytes read so far can be passed on, and lets a call arrive
// if they begin one.
func (c *conn) told() bool {
	if !c.wrote.Load() {
		return true // more of the same request
	}
	isControl, known := control(c.start)
	if !known {
		return false
	}
	c.wrote.Store(false)
	if isControl {
		c.drop()
		return true
	}
	t := c.gate.arrive(false)
	c.mu.Lock()
	c.ticket, c.have = t, true
	c.mu.Unlock()
	return true
}

// control recognises a control request by its first bytes, or reports that there are
// too few. Anything else is a call.
func control(b []byte) (isControl, known bool) {
	const method = 16 // longer than any
	space := bytes.IndexByte(b, ' ')
	switch {
	case space < 0:
		return false, len(b) >= method
	case len(b) < space+1+len(controlPrefix):
		return false, !bytes.HasPrefix([]byte(controlPrefix), b[space+1:])
	}
	return bytes.HasPrefix(b[space+1:], []byte(controlPrefix)), true
}

// Write notes that the next bytes read begin a request. It does so first: the caller
// may answer before the write returns here.
func (c *conn) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(p, []byte("HTTP/1.1 100 ")) {
		c.wrote.Store(true)
	}
	return c.Conn.Write(p)
}

// CloseWrite lets net/http end a connection without cutting the answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// take returns the ticket of the request that is being handled, once.
func (c *conn) take() (ticket, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.have
	c.have = false
	return c.ticket, have
}

func (c *conn) drop() {
	c.mu.Lock()
	c.have = false
	c.mu.Unlock()
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// arrival returns the ticket of a request.
func (g *gate) arrival(r *http.Request) ticket {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		if t, ok := c.take(); ok {
			return t
		}
	}
	return g.arrive(true)
}
