package artist

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
)

// Failing writes open the breaker though each follows a successful look, and only a
// successful write closes it.
func TestLooksSayNothingOfWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(WorkerConfig{}.withDefaults().BreakerOpen, time.Second, func(error) fault.Class { return fault.Transient }, func(string, string) {})
		fine := func(context.Context) error { return nil }
		slow := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		for range 3 {
			require.NoError(t, g.look(t.Context(), fine))
			if err := g.do(t.Context(), slow); fault.Of(err) != fault.Infrastructure {
				t.Fatalf("a slow write: %v", err)
			}
		}
		if g.state() != 2 {
			t.Fatalf("state %d after three slow writes, want 2 (open)", g.state())
		}
		if err := g.look(t.Context(), fine); fault.Of(err) != fault.Infrastructure {
			t.Errorf("a look while it is open: %v", err)
		}
		time.Sleep(WorkerConfig{}.withDefaults().BreakerOpen + time.Millisecond)
		if err := g.look(t.Context(), fine); err != nil || g.state() != 1 {
			t.Errorf("a look afterwards: %v, state %d, want 1 (half-open)", err, g.state())
		}
		if err := g.do(t.Context(), slow); err == nil || g.state() != 2 {
			t.Errorf("a slow write afterwards: %v, state %d, want 2 (open)", err, g.state())
		}
		time.Sleep(WorkerConfig{}.withDefaults().BreakerOpen + time.Millisecond)
		if err := g.do(t.Context(), fine); err != nil || g.state() != 0 {
			t.Errorf("a quick write afterwards: %v, state %d, want 0 (closed)", err, g.state())
		}
		// A look that fails counts.
		for range 3 {
			assert.Error(t, g.look(t.Context(), func(context.Context) error { return errors.New("gone") }), "a look that failed went well")
		}
		if g.state() != 2 {
			t.Errorf("state %d after three looks that failed, want 2 (open)", g.state())
		}
	})
}
