package outbox_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// hangingShards is a store whose first Shards call never gets an answer.
type hangingShards struct {
	*outboxtest.Memory
	calls atomic.Int64
}

func (h *hangingShards) Shards(ctx context.Context) (int, error) {
	if h.calls.Add(1) == 1 {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return h.Memory.Shards(ctx)
}

// A connection that hangs when the relay starts, as behind a firewall that drops packets, does not
// stop it for ever.
func TestAStoreThatHangsAtTheStartIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.append("a")
		r, err := outbox.NewRelay(&hangingShards{Memory: b.store}, b.pub, outbox.RelayConfig{Logger: newLines().logger()})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		require.NoError(t, b.pub.WaitFor(t.Context(), 1))
		cancel()
		require.NoError(t, <-done)
	})
}
