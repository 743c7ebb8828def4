package redisgate_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
)

// A server that refuses connections, and one that accepts them and never answers:
// each call fails in time, as infrastructure.
func TestAway(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { silent.Close() })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone.Close()
	for what, address := range map[string]string{"silent": silent.Addr().String(), "gone": gone.Addr().String()} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, open(t, "redis://"+address, redisdb.Config{Timeout: time.Minute}), "")
			for name, call := range map[string]func(ctx context.Context) error{
				"assign":  func(ctx context.Context) error { _, err := s.Assign(ctx, "show-1", 1); return err },
				"state":   func(ctx context.Context) error { _, err := s.State(ctx, "show-1"); return err },
				"advance": func(ctx context.Context) error { _, err := s.Advance(ctx, "show-1", 1, time.Second); return err },
				"switch":  func(ctx context.Context) error { _, err := s.Switch(ctx, "show-1", true); return err },
				"events":  func(ctx context.Context) error { _, err := s.Events(ctx); return err },
			} {
				// The client would wait a minute: the context ends the call.
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				err := call(ctx)
				cancel()
				if fault.Of(err) != fault.Infrastructure {
					t.Errorf("%s: %v is %s", name, err, fault.Of(err))
				}
			}
		})
	}
	assert.Equal(t, fault.Unclassified, redisdb.Classify(errors.New("other")), "an error of others")
}
