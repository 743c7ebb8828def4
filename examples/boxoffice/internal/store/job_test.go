package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// One of two processes does the due work, through any failure, and gives its lease
// back at the end.
func TestJob(t *testing.T) {
	s, _ := open(t)
	counter(t, s)
	ctx, stop := context.WithCancel(context.Background())
	var tries, inside atomic.Int64
	ended := make(chan error, 2)
	for _, holder := range []string{"a", "b"} {
		work := Work{Next: `SELECT CASE WHEN COUNT(*) < 5 THEN 0 END FROM writers`}
		work.Do = func(ctx context.Context, lease Lease) (bool, error) {
			if inside.Add(1) > 1 {
				t.Error("both are at it")
			}
			defer inside.Add(-1)
			n := tries.Add(1)
			switch n {
			case 2:
				return false, ErrLeaseLost
			case 4:
				return false, errors.New("spoiled")
			}
			return true, s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
				if err := lease.Keep(ctx, tx, time.Minute); err != nil {
					return err
				}
				return add(s, fmt.Sprint(n))(ctx, tx)
			})
		}
		go func() { ended <- s.NewJob("test", holder, time.Minute, slog.New(slog.DiscardHandler)).Run(ctx, work) }()
	}
	wait(t, "all to be done", func() bool { return count(t, s, `SELECT COUNT(*) FROM writers`) == 5 })
	stop()
	for range 2 {
		assert.NoError(t, <-ended)
	}
	assert.EqualValues(t, 7, tries.Load(), "tries")
	_, err := s.TakeLease(t.Context(), "test", "c", time.Minute)
	assert.NoError(t, err, "after the end")
}

// Work that is due and cannot be done now, because another transaction has locked its
// rows, is looked at once in a while, and not all the time.
func TestJobWithoutProgress(t *testing.T) {
	s, _ := open(t)
	ctx, stop := context.WithCancel(context.Background())
	calls := make(chan time.Time)
	ended := make(chan error)
	go func() {
		ended <- s.NewJob("test", "a", time.Minute, slog.New(slog.DiscardHandler)).Run(ctx, Work{
			Next: `SELECT 0`,
			Do: func(context.Context, Lease) (bool, error) {
				select {
				case calls <- time.Now():
				case <-ctx.Done():
				}
				return false, nil
			},
		})
	}()
	first := <-calls
	if after := (<-calls).Sub(first); after < jobLook/2 {
		t.Errorf("looked again after %v", after)
	}
	stop()
	assert.NoError(t, <-ended)
}
