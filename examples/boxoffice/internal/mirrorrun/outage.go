package mirrorrun

import (
	"io"
	"net"
	"sync"
)

// outage stands before a server, and makes it unreachable on demand.
type outage struct {
	listener net.Listener
	server   string

	mu     sync.Mutex
	away   bool
	open   map[net.Conn]struct{}
	copies sync.WaitGroup
}

func newOutage(server string) (*outage, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &outage{listener: l, server: server, open: map[net.Conn]struct{}{}}
	o.copies.Go(o.accept)
	return o, nil
}

func (o *outage) addr() string { return o.listener.Addr().String() }

// set begins or ends an outage. Its beginning ends all connections.
func (o *outage) set(away bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away = away; away {
		for c := range o.open {
			c.Close() //nolint:errcheck // its copier may have closed it
		}
	}
}

func (o *outage) close() error {
	err := o.listener.Close()
	o.set(true)
	o.copies.Wait()
	return err
}

func (o *outage) accept() {
	for {
		client, err := o.listener.Accept()
		if err != nil {
			return // closed
		}
		o.copies.Go(func() { o.serve(client) })
	}
}

func (o *outage) serve(client net.Conn) {
	defer client.Close() //nolint:errcheck // an outage may have closed it
	server, err := net.Dial("tcp", o.server)
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // the same
	if !o.add(client, server) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { pass(client, server) })
	pass(server, client)
	back.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, client)
	delete(o.open, server)
}

// add registers the connections of a client, unless there is an outage.
func (o *outage) add(client, server net.Conn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away {
		return false
	}
	o.open[client], o.open[server] = struct{}{}, struct{}{}
	return true
}

// pass copies until one of the connections ends, and ends both.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from) // the peers see what went wrong
	to.Close()               //nolint:errcheck // the other direction may have closed it
	from.Close()             //nolint:errcheck // the same
}
