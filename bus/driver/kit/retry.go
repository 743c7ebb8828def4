package kit

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/parallel"
)

// Backoff describes how delays grow: its fields are Initial, Max, Multiplier and Jitter, and
// Delay(attempt) is the wait before a retry; the first retry is attempt 1. The zero value is 1
// s, 2 s, 4 s, 8 s, 10 s, 10 s … without jitter.
type Backoff = backoff.Policy

// Sleep waits for d, or until ctx is done; then it returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error { return backoff.Sleep(ctx, d) }

// PartitionOf maps a key to one of n partitions with FNV-1a, as every transport of this library
// does where no server decides. "" is in partition 0.
func PartitionOf(key string, n int) int { return log.LaneOf(key, n) }

// Each calls do for all values at once, waits, and joins the errors in the order of the values.
func Each[T any](all []T, do func(T) error) error { return parallel.Each(all, do) }
