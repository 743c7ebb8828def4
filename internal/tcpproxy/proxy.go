// Package tcpproxy is a proxy between a client and a server in tests that makes the network
// between them fail: slow, cut, or absent.
//
//	fault                                           proven by
//	bytes pass unchanged, both ways                 TestPasses
//	Cut ends every connection, new ones pass        TestCut
//	Refuse ends them and takes no new ones          TestRefuse
//	Delay holds every chunk back, in order          TestDelay
//	Stall holds all back until it is over           TestStall
//	Redirect forwards to another server             TestRedirect
//	no process listens at a Vacant address          TestVacant
//	Close ends everything the proxy started         TestMain
package tcpproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy forwards connections to one server. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	delay    atomic.Int64 // nanoseconds, each way

	ctx    context.Context // ends with Close; cuts delays short
	stop   context.CancelFunc
	served sync.WaitGroup

	mu      sync.Mutex
	target  string
	refuse  bool
	stalled chan struct{} // closed when bytes may pass
	closed  bool
	open    map[net.Conn]struct{} // both ends of every connection
	carried int                   // connections so far
}

// Start listens on a free port of 127.0.0.1 and forwards to target, host:port.
func Start(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("tcpproxy: %w", err)
	}
	return Serve(listener, target), nil
}

// Vacant returns an address of 127.0.0.1 where no process listens, for [At]. Its port is below
// the range of outgoing ports, so that it stays free.
func Vacant() (addr string, err error) {
	for range 50 {
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(12_000+rand.IntN(3000)))
		var l net.Listener
		if l, err = net.Listen("tcp", addr); err == nil {
			err = l.Close()
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("tcpproxy: %w", err)
	}
	return addr, nil
}

// At listens at addr, a [Vacant] one, and forwards to target: the server is available from now
// on.
func At(addr, target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("tcpproxy: %w", err)
	}
	return Serve(listener, target), nil
}

// Serve forwards the connections of listener, which is closed with the proxy.
func Serve(listener net.Listener, target string) *Proxy {
	p := &Proxy{target: target, listener: listener, open: map[net.Conn]struct{}{}, stalled: make(chan struct{})}
	close(p.stalled)
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.served.Go(p.accept)
	return p
}

// Addr returns the address to which clients connect, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Connections returns the number of connections so far.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.carried
}

// Delay delays bytes sent from now on by d, each way; 0 ends it.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// Cut ends all connections and returns how many there were. New ones pass.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut()
}

func (p *Proxy) cut() int {
	n := len(p.open)
	for c := range p.open {
		// The peer sees a reset, as after a pulled plug, not an orderly end.
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // without it the end is orderly; still an end
		}
		_ = c.Close() // its copier reports nothing either
		delete(p.open, c)
	}
	return n / 2
}

// Refuse ends all connections and, until it is called with false, every new one at once: the
// server is absent.
func (p *Proxy) Refuse(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = away
	if away {
		p.cut()
	}
}

// Redirect ends all connections and forwards new ones to another target, as a floating address
// does after a failover.
func (p *Proxy) Redirect(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	p.cut()
}

// Stall lets no byte pass, on old connections and new ones, until it is called with false: the
// server hangs.
func (p *Proxy) Stall(hangs bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	passing := false
	select {
	case <-p.stalled:
		passing = true
	default:
	}
	switch {
	case hangs && passing:
		p.stalled = make(chan struct{})
	case !hangs && !passing:
		close(p.stalled)
	}
}

// Close ends the proxy and waits for its goroutines.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.cut()
	p.mu.Unlock()
	p.stop()
	err := p.listener.Close()
	p.served.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.served.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close() //nolint:errcheck // a copier or a cut closed it
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	dialer := net.Dialer{Timeout: 5 * time.Second}
	server, err := dialer.DialContext(p.ctx, "tcp", target)
	if err != nil {
		return // the client sees the end of its connection
	}
	defer server.Close() //nolint:errcheck // a copier or a cut closed it
	if !p.admit(client, server, target) {
		return
	}
	var both sync.WaitGroup
	for _, way := range []struct{ from, to net.Conn }{{client, server}, {server, client}} {
		both.Go(func() {
			p.copy(way.to, way.from)
			_ = way.to.Close()
			_ = way.from.Close()
		})
	}
	both.Wait()
	p.mu.Lock()
	delete(p.open, client)
	delete(p.open, server)
	p.mu.Unlock()
}

func (p *Proxy) admit(client, server net.Conn, target string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse || p.closed || p.target != target {
		return false
	}
	p.carried++
	p.open[client], p.open[server] = struct{}{}, struct{}{}
	return true
}

// chunk is a piece of data and the time at which it is passed on.
type chunk struct {
	bytes []byte
	due   time.Time
}

// copy reads and writes in separate goroutines, so that a delay applies once to each chunk and
// does not add up.
func (p *Proxy) copy(to io.Writer, from io.Reader) {
	chunks := make(chan chunk, 1024)
	var writer sync.WaitGroup
	writer.Go(func() {
		broken := false
		for c := range chunks {
			if broken || !p.wait(c.due) {
				continue
			}
			_, err := to.Write(c.bytes)
			broken = err != nil
		}
	})
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			chunks <- chunk{append([]byte(nil), buf[:n]...), time.Now().Add(time.Duration(p.delay.Load()))}
		}
		if err != nil {
			break
		}
	}
	close(chunks)
	writer.Wait()
}

func (p *Proxy) wait(until time.Time) bool {
	p.mu.Lock()
	stalled := p.stalled
	p.mu.Unlock()
	select {
	case <-stalled:
	case <-p.ctx.Done():
		return false
	}
	d := time.Until(until)
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}
