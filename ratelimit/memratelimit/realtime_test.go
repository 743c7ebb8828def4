package memratelimit_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
)

// TestRealTime: eight callers take all they can for a while; the store's own times of the
// grants keep the bound, and no token is lost.
func TestRealTime(t *testing.T) {
	s := memratelimit.New()
	p := plan(t, ratelimit.Limits{HardLimit: 5000, Rate: 3000, Burst: 30})
	ask := driver.Ask{Runs: []driver.Run{{Priority: driver.High, Size: 1, Count: 1}}}
	first, err := s.Acquire(t.Context(), p, ask)
	require.NoError(t, err)
	var mu sync.Mutex
	var total int64
	var last int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
				g, err := s.Acquire(t.Context(), p, ask)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				total += int64(g.Runs[0].Granted)
				last = max(last, g.At)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if most := (last-first.At)*int64(p.Rate)/1_000_000 + 1; total == 0 || total > most {
		t.Errorf("%d were granted in %d µs from an empty bucket, at most %d can be", total, last-first.At, most)
	}
}
