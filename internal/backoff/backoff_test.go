package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/backoff"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDelayGrows(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy backoff.Policy
		want   []time.Duration // of attempts 0, 1, 2 …
	}{
		{"zero value", backoff.Policy{}, []time.Duration{
			time.Second, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second}},
		{"fixed", backoff.Policy{Initial: 3 * time.Second, Multiplier: 1}, []time.Duration{
			3 * time.Second, 3 * time.Second, 3 * time.Second, 3 * time.Second}},
		{"own cap", backoff.Policy{Initial: time.Second, Max: 3 * time.Second, Multiplier: 1.5}, []time.Duration{
			time.Second, time.Second, 1500 * time.Millisecond, 2250 * time.Millisecond, 3 * time.Second}},
		{"initial above the default cap", backoff.Policy{Initial: time.Minute}, []time.Duration{time.Minute, time.Minute, time.Minute}},
		{"initial above its own cap", backoff.Policy{Initial: time.Minute, Max: time.Second}, []time.Duration{time.Second, time.Second}},
	} {
		for attempt, want := range tc.want {
			if got := tc.policy.Delay(attempt); got != want {
				t.Errorf("%s: Delay(%d) = %v, want %v", tc.name, attempt, got, want)
			}
		}
	}
}

func TestDelayJitter(t *testing.T) {
	p := backoff.Policy{Initial: time.Second, Max: 2 * time.Second, Jitter: 0.2}
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := p.Delay(1)
		if d < 800*time.Millisecond || d > 1200*time.Millisecond {
			t.Fatalf("Delay(1) = %v, outside 1s ± 20%%", d)
		}
		seen[d] = true
		if d := p.Delay(2); d < 1600*time.Millisecond || d > 2*time.Second {
			t.Fatalf("Delay(2) = %v, outside 2s - 20%% or above the cap", d)
		}
	}
	if len(seen) < 900 {
		t.Errorf("1000 delays took only %d values", len(seen))
	}
}

func TestDelayNeverOverflows(t *testing.T) {
	p := backoff.Policy{Max: time.Hour, Jitter: 1}
	for _, attempt := range []int{math.MinInt, 63, 64, 1024, 1 << 40, math.MaxInt} {
		if d := p.Delay(attempt); d < 0 || d > time.Hour {
			t.Errorf("Delay(%d) = %v", attempt, d)
		}
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := backoff.Sleep(t.Context(), time.Minute); err != nil || time.Since(start) != time.Minute {
			t.Errorf("Sleep = %v after %v, want nil after 1m", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- backoff.Sleep(ctx, time.Minute) }()
		synctest.Wait()
		start = time.Now()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || time.Since(start) != 0 {
			t.Errorf("cancelled Sleep = %v after %v, want context.Canceled at once", err, time.Since(start))
		}
		assert.ErrorIs(t, backoff.Sleep(ctx, 0), context.Canceled, "Sleep on a done context =")
	})
}

func ExamplePolicy_Delay() {
	p := backoff.Policy{} // 1 s, doubling, 10 s at most
	for attempt := 1; attempt <= 5; attempt++ {
		fmt.Print(p.Delay(attempt), " ")
	}
	// Output: 1s 2s 4s 8s 10s
}
