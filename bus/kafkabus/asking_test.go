package kafkabus_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// mute returns the URL of a broker that accepts connections and never answers.
func mute(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var conns []net.Conn
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		for _, c := range conns {
			c.Close()
		}
	})
	return "kafka://" + l.Addr().String() + "/"
}

// Requests to the cluster end with their context, and with Close.
func TestQuestionsEnd(t *testing.T) {
	t.Parallel()
	url := mute(t)
	for name, ask := range map[string]func(context.Context, *bus.Bus) error{
		"Ping":      func(ctx context.Context, b *bus.Bus) error { return b.Ping(ctx) },
		"Declare":   func(ctx context.Context, b *bus.Bus) error { return b.Declare(ctx, bus.Topic{Name: "t"}) },
		"Topics":    func(ctx context.Context, b *bus.Bus) error { _, err := b.Topics(ctx); return err },
		"one topic": func(ctx context.Context, b *bus.Bus) error { _, err := b.Topics(ctx, "t"); return err },
		"Browse":    func(ctx context.Context, b *bus.Bus) error { _, err := b.Browse(ctx, "t", 1); return err },
		"Pending":   func(ctx context.Context, b *bus.Bus) error { _, err := b.Pending(ctx, "t", "g", 1); return err },
		"Lag":       func(ctx context.Context, b *bus.Bus) error { _, err := b.Lag(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			b := openBus(t, kafkabus.Config{}, url+"?lag=all")
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			assert.ErrorIs(t, ask(ctx, b), context.DeadlineExceeded, "at the end of its context")
			done := make(chan error, 1)
			go func() { done <- ask(context.WithoutCancel(t.Context()), b) }()
			select {
			case err := <-done:
				t.Fatalf("a silent broker answers: %v", err)
			case <-time.After(50 * time.Millisecond):
			}
			assert.NoError(t, b.Close())
			assert.ErrorIs(t, <-done, bus.ErrClosed, "at Close")
			assert.ErrorIs(t, ask(t.Context(), b), bus.ErrClosed, "after Close")
			if took := time.Since(began); took > 5*time.Second { // a request takes up to twice that by itself
				t.Errorf("that took %v", took)
			}
		})
	}
}
