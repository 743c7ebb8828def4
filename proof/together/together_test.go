package together

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		for _, c := range []struct {
			first error // of the first caller, after a second
			want  error
			takes time.Duration
		}{{nil, nil, time.Minute}, {ErrDone, nil, time.Minute}, {broken, broken, time.Second}} {
			start, done := time.Now(), [3]int{}
			err := For(3, time.Minute, func(caller int, over *atomic.Bool) error {
				for ; !over.Load(); done[caller]++ {
					time.Sleep(time.Second)
					if caller == 0 && c.first != nil {
						return c.first
					}
				}
				return nil
			})
			require.ErrorIs(t, err, c.want)
			require.InDelta(t, c.takes.Seconds(), time.Since(start).Seconds(), 1)
			require.InDelta(t, done[1], done[2], 1)
		}
	})
}

func TestShare(t *testing.T) {
	var done [100]atomic.Int64
	require.NoError(t, Share(len(done), 7, func(i int) error { done[i].Add(1); return nil }))
	for i := range done {
		require.EqualValues(t, 1, done[i].Load(), "piece %d", i)
	}
	require.Error(t, Share(3, 2, func(int) error { return errors.New("broken") }))
}

func TestBackground(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct{ ends, want error }{"canceled": {context.Canceled, nil}, "broken": {broken, broken}, "done": {nil, nil}} {
		stop := Background(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return c.ends
		})
		if err := stop(); !errors.Is(err, c.want) || err != nil && c.want == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
