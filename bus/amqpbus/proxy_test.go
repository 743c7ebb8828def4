package amqpbus_test

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between a bus and its broker and can be unkind.
type proxy struct {
	host     string
	listener net.Listener
	target   string

	mu      sync.Mutex
	open    map[net.Conn]struct{}
	stalled chan struct{} // closed when traffic may go on
	copying sync.WaitGroup
}

func newProxy(t testing.TB, b *broker) *proxy {
	t.Helper()
	u, err := url.Parse(b.url)
	if err != nil {
		t.Fatal("MILLRACE_RABBITMQ_URL is no valid URL")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{host: l.Addr().String(), listener: l, target: u.Host, open: map[net.Conn]struct{}{}, stalled: make(chan struct{})}
	close(p.stalled)
	p.copying.Go(p.accept)
	t.Cleanup(func() {
		p.goOn()
		l.Close() //nolint:errcheck // nothing to lose
		p.cut()
		p.copying.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil {
			in.Close() //nolint:errcheck // nothing to lose
			continue
		}
		p.mu.Lock()
		p.open[in], p.open[out] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.copying.Go(func() { p.copy(out, in) })
		p.copying.Go(func() { p.copy(in, out) })
	}
}

func (p *proxy) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		stalled := p.stalled
		p.mu.Unlock()
		<-stalled
		if n > 0 {
			if _, werr := to.Write(buffer[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			break
		}
	}
	to.Close()   //nolint:errcheck // nothing to lose
	from.Close() //nolint:errcheck // nothing to lose
	p.mu.Lock()
	delete(p.open, to)
	delete(p.open, from)
	p.mu.Unlock()
}

// cut ends every connection without a goodbye.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0) //nolint:errcheck // a reset is wanted, an end will do
		}
		c.Close() //nolint:errcheck // nothing to lose
	}
}

// stall lets nothing through until goOn.
func (p *proxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = make(chan struct{})
}

func (p *proxy) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.stalled:
	default:
		close(p.stalled)
	}
}
