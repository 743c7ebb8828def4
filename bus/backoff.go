package bus

import (
	"cmp"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
)

// Backoff describes how delays grow from one attempt to the next. It has no state: the caller
// counts the attempts.
type Backoff struct {
	Initial    time.Duration // first delay; 1 s when zero
	Max        time.Duration // cap of every delay, jitter included; 10 s when zero, or Initial when that is longer
	Multiplier float64       // growth per attempt; 2 when zero, 1 for a fixed interval
	Jitter     float64       // each delay is spread evenly over ± this fraction, 0 to 1; 0 means none
}

// Delay returns the wait before the given retry; the first retry is attempt 1.
func (b Backoff) Delay(attempt int) time.Duration { return backoff.Policy(b).Delay(attempt) }

func (b Backoff) validate(field string) error {
	switch {
	case b.Initial < 0 || b.Max < 0:
		return fmt.Errorf("%s: Initial and Max must not be negative; 0 means the default", field)
	case b.Multiplier < 0 || (b.Multiplier > 0 && b.Multiplier < 1):
		return fmt.Errorf("%s: Multiplier is %g; give 1 or more, or 0 for the default 2", field, b.Multiplier)
	case b.Jitter < 0 || b.Jitter > 1:
		return fmt.Errorf("%s: Jitter is %g; give a fraction from 0 to 1", field, b.Jitter)
	}
	return nil
}

// RetryPolicy says how often a message that fails transiently is retried before it becomes a
// dead letter, and how a paused consumer probes. The zero value is [DefaultRetry].
type RetryPolicy struct {
	// MaxRetries after the first attempt; 0 means 3, negative means none.
	MaxRetries int
	// Backoff between attempts; zero means 1 s × 2, cap 10 s, jitter 20 %.
	Backoff Backoff
	// Probe is the wait between probes while the consumer is paused; zero means
	// 1 s × 2, cap 30 s, jitter 20 %.
	Probe Backoff
}

// DefaultRetry waits 1 s, 2 s and 4 s (± 20 %); then the message becomes a dead letter.
func DefaultRetry() RetryPolicy { return RetryPolicy{}.withDefaults() }

// FixedRetry waits the same interval before each of n retries: FixedRetry(time.Second, 1)
// retries once, after one second, and then publishes the dead letter.
func FixedRetry(interval time.Duration, n int) RetryPolicy {
	if n <= 0 {
		n = -1
	}
	// An interval of zero means no wait, not the default.
	interval = max(interval, time.Nanosecond)
	return RetryPolicy{MaxRetries: n, Backoff: Backoff{Initial: interval, Max: interval, Multiplier: 1}}
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	p.MaxRetries = cmp.Or(p.MaxRetries, 3)
	p.Backoff = cmp.Or(p.Backoff, Backoff{Initial: time.Second, Max: 10 * time.Second, Multiplier: 2, Jitter: 0.2})
	p.Probe = cmp.Or(p.Probe, Backoff{Initial: time.Second, Max: 30 * time.Second, Multiplier: 2, Jitter: 0.2})
	return p
}

func (p RetryPolicy) validate() error {
	if err := p.Backoff.validate("Retry.Backoff"); err != nil {
		return err
	}
	return p.Probe.validate("Retry.Probe")
}
