package logsub_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/log/logsub"
)

// A ping starts nothing, unless the server is connected by the start: a health check makes no
// tables.
func TestPing(t *testing.T) {
	for _, starts := range []bool{false, true} {
		started, pinged := 0, 0
		d, err := logsub.NewDriver(logsub.Parts{
			Name: "xbus", Backend: newMemory().connect().backend(), PingStarts: starts,
			Start: func(context.Context) error { started++; return nil },
			Ping:  func(context.Context) error { pinged++; return nil },
			Watch: func(ctx context.Context, _ *logsub.Hub) { <-ctx.Done() },
			Close: func() error { return nil },
		})
		require.NoError(t, err)
		if err := errors.Join(d.Ping(t.Context()), d.Ping(t.Context()), d.Close()); err != nil || pinged != 2 || (started == 1) != starts {
			t.Errorf("PingStarts %v: started %d times, pinged %d times, %v", starts, started, pinged, err)
		}
	}
}
