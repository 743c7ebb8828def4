package kit

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/lazy"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/parallel"
)

// Backoff describes how delays grow: its fields are Initial, Max, Multiplier and Jitter, and
// Delay(attempt) is the wait before a retry; the first retry is attempt 1. The zero value is 1
// s, 2 s, 4 s, 8 s, 10 s, 10 s … without jitter.
type Backoff = backoff.Policy

// Sleep waits for d, or until ctx is done; then it returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error { return backoff.Sleep(ctx, d) }

// Lazy is a value that the first Get makes, once for all callers that wait, and again after a
// failure. Made returns the value if it exists; Close ends an attempt and returns the value, if
// any. Lazy is safe for concurrent use.
type Lazy[T any] = lazy.Value[T]

// NewLazy returns a Lazy whose value make makes. The context of make ends when no caller of Get
// waits any more. Get returns closed after Close.
func NewLazy[T any](closed error, make func(context.Context) (T, error)) *Lazy[T] {
	return lazy.New(closed, make)
}

// PartitionOf maps a key to one of n partitions with FNV-1a, as every transport of this library
// does where no server decides. "" is in partition 0.
func PartitionOf(key string, n int) int { return log.LaneOf(key, n) }

// Each calls do for all values at once, waits, and joins the errors in the order of the values.
func Each[T any](all []T, do func(T) error) error { return parallel.Each(all, do) }
