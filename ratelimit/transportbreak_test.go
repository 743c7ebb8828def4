package ratelimit_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/ratelimit"
)

// wire is an upstream whose connections are served by a function of the test.
func wire(t *testing.T, serve func(n int, c net.Conn, in *bufio.Reader)) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 1; ; n++ {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				serve(n, c, bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		assert.NoError(t, listener.Close())
		wg.Wait()
	})
	return "http://" + listener.Addr().String()
}

func answerOne(c net.Conn, in *bufio.Reader, received *atomic.Int64) bool {
	if _, err := http.ReadRequest(in); err != nil {
		return false
	}
	received.Add(1)
	_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	return err == nil
}

// TestSilentRetrySpendsAnotherPermit: http.Transport retries by itself when an idle connection
// breaks. That is one more call, and spends one more permit.
func TestSilentRetrySpendsAnotherPermit(t *testing.T) {
	var received atomic.Int64
	url := wire(t, func(n int, c net.Conn, in *bufio.Reader) {
		for i := 1; ; i++ {
			if n == 1 && i == 2 { // takes the call and breaks
				if _, err := http.ReadRequest(in); err == nil {
					received.Add(1)
				}
				return
			}
			if !answerOne(c, in, &received) {
				return
			}
		}
	})
	store := &budget{}
	l := limiter(t, store, ratelimit.Config{Limits: forgiving, Timeout: time.Minute})
	c := client(t, l, ratelimit.TransportConfig{})
	for range 2 {
		if got, err := get(context.Background(), c, url); err != nil || got.body != "ok" {
			t.Fatalf("%q, %v", got.body, err)
		}
	}
	if received.Load() != 3 || total(store.taken()) != 3 {
		t.Errorf("%d calls were received for %v permits, want 3", received.Load(), store.taken())
	}
}

// TestConnectionBreaksDuringTheWait: if a connection breaks while a call waits on it for
// another permit, the call is sent on a new connection.
func TestConnectionBreaksDuringTheWait(t *testing.T) {
	broken, dropped := make(chan struct{}), make(chan struct{})
	var received atomic.Int64
	url := wire(t, func(n int, c net.Conn, in *bufio.Reader) {
		if n == 1 {
			answerOne(c, in, &received)
			<-broken
			close(dropped)
			return
		}
		for answerOne(c, in, &received) {
		}
	})
	store := &budget{}
	l := limiter(t, store, ratelimit.Config{})
	c := client(t, l, ratelimit.TransportConfig{})
	_, err := get(context.Background(), c, url)
	require.NoError(t, err)
	var conns atomic.Int64
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		switch conns.Add(1) {
		case 1:
			<-time.After(l.Plan().UseFor + time.Millisecond)
			store.set(0)
			close(broken)
			<-dropped
		case 2:
			store.set(1000)
		}
	}})
	// The wait on the first connection ends only because the connection ends.
	got, err := get(ctx, c, url)
	if err != nil || got.body != "ok" || received.Load() != 2 {
		t.Errorf("%q, %v; %d calls were received on %d connections", got.body, err, received.Load(), conns.Load())
	}
}
