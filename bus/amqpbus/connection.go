package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// link is a connection. If it was lost, the next caller that needs a channel connects again.
type link struct {
	name string // shown by RabbitMQ
	to   endpoint
	cfg  Config
	// made prepares every new connection before its first use.
	made func(*amqp.Connection) error

	dialing chan struct{} // capacity 1: held while dialing
	blocked atomic.Bool   // the broker accepts nothing: memory or disk is short

	mu       sync.Mutex
	conn     *amqp.Connection
	raw      net.Conn
	next     int // host to try first
	failures int // attempts that failed
	failure  error
	closed   bool
}

func newLink(name string, to endpoint, cfg Config, made func(*amqp.Connection) error) *link {
	return &link{name: name, to: to, cfg: cfg, made: made, dialing: make(chan struct{}, 1)}
}

// channel opens a channel, on a new connection when there is none.
func (l *link) channel(ctx context.Context) (*amqp.Channel, error) {
	conn, err := l.connection(ctx)
	if err != nil {
		return nil, err
	}
	return conn.Channel()
}

func (l *link) connection(ctx context.Context) (*amqp.Connection, error) {
	l.mu.Lock()
	failures := l.failures
	l.mu.Unlock()
	select {
	case l.dialing <- struct{}{}:
		defer func() { <-l.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l.mu.Lock()
	conn, closed, failed, failure := l.conn, l.closed, l.failures, l.failure
	l.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case conn != nil && !conn.IsClosed():
		return conn, nil
	case failed > failures:
		// Another caller tried while this one waited for its turn.
		return nil, failure
	}
	var errs []error
	for range l.to.hosts {
		host := l.to.hosts[l.next%len(l.to.hosts)]
		conn, raw, err := l.dial(ctx, host)
		if err != nil {
			l.next++
			errs = append(errs, err)
			continue
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.closed {
			return nil, errors.Join(errClosed, conn.CloseDeadline(time.Now().Add(closeTimeout)))
		}
		l.conn, l.raw = conn, raw
		return conn, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures, l.failure = l.failures+1, errors.Join(errs...)
	return nil, l.failure
}

// closeTimeout bounds closing a connection to a broker that does not answer.
const closeTimeout = 5 * time.Second

func (l *link) dial(ctx context.Context, host string) (*amqp.Connection, net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.ConnectTimeout)
	defer cancel() // after abort
	var raw net.Conn
	abort := func() bool { return true } // of the function that ends the handshake with ctx
	defer func() { abort() }()
	cfg := l.to.config(l.name, l.cfg.Heartbeat)
	cfg.Dial = func(network, _ string) (net.Conn, error) {
		c, err := l.to.dial(ctx, network, host, l.cfg.ConnectTimeout)
		if err != nil {
			return nil, err
		}
		abort = context.AfterFunc(ctx, func() { c.Close() }) //nolint:errcheck // it was given up
		raw = boundedConn{c, 3 * l.cfg.Heartbeat}
		return raw, nil
	}
	conn, err := amqp.DialConfig("amqp://"+host, cfg)
	switch {
	case l.to.tls != nil:
		err = kit.UntrustedHint(err, host, "?cacertfile=")
	case is(err, amqp.FrameError): // the server speaks another protocol
		err = kit.PlainHint(err, host, "amqps://")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", host, err)
	}
	if err := l.made(conn); err != nil {
		return nil, nil, errors.Join(err, conn.CloseDeadline(time.Now().Add(closeTimeout)))
	}
	l.blocked.Store(false)
	blocked := conn.NotifyBlocked(make(chan amqp.Blocking, 1))
	go func() { // ends with the connection
		for b := range blocked {
			l.blocked.Store(b.Active)
		}
	}()
	return conn, raw, nil
}

// cut ends the connection without closing it properly, because the broker does not answer.
func (l *link) cut() {
	l.mu.Lock()
	raw := l.raw
	l.mu.Unlock()
	if raw != nil {
		raw.Close() //nolint:errcheck // it was given up
	}
}

// version is the major version of the broker, 0 if unknown.
func version(conn *amqp.Connection) int {
	text, _ := conn.Properties["version"].(string)
	major, _, _ := strings.Cut(text, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}

func (l *link) close() error {
	l.mu.Lock()
	conn, closed := l.conn, l.closed
	l.closed = true
	l.mu.Unlock()
	if closed || conn == nil || conn.IsClosed() {
		return nil
	}
	err := conn.CloseDeadline(time.Now().Add(closeTimeout))
	if errors.Is(err, amqp.ErrClosed) {
		return nil // it was lost at this moment
	}
	return err
}

// boundedConn fails a write that the broker does not accept in time: a broker stops reading
// from publishers when its memory or disk is short.
type boundedConn struct {
	net.Conn
	limit time.Duration
}

func (c boundedConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}
