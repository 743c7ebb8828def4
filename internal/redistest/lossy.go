package redistest

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Lossy opens a client of the Cluster. After lose, the connection breaks that has the answer to the
// next such command, and then is called: the server has carried the command out, and the client
// cannot know.
func Lossy(t testing.TB) (client redis.UniversalClient, lose func(command string, then func())) {
	t.Helper()
	client = Servers["cluster"](t)
	next := &atomic.Pointer[loss]{}
	client.(*redis.ClusterClient).Options().Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &lossy{Conn: conn, next: next}, err
	}
	return client, func(command string, then func()) { next.Store(&loss{[]byte(command), then}) }
}

type loss struct {
	command []byte
	then    func()
}

type lossy struct {
	net.Conn
	next *atomic.Pointer[loss]
	mine *loss
}

func (l *lossy) Write(b []byte) (int, error) {
	if n := l.next.Load(); n != nil && bytes.Contains(b, n.command) && l.next.CompareAndSwap(n, nil) {
		l.mine = n
	}
	return l.Conn.Write(b)
}

func (l *lossy) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if l.mine == nil || n == 0 {
		return n, err
	}
	_ = l.Close()
	l.mine.then()
	return 0, io.EOF
}
