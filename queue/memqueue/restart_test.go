package memqueue_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/queuetest"
)

// restarting is a store that is saved and restored into a new one before each call.
type restarting struct {
	fragile
	restarts sync.RWMutex // calls read; a restart waits for them
}

func (s *restarting) restart() (driver.MemoryStore, func(), error) {
	s.restarts.Lock()
	var file bytes.Buffer
	err := s.current().Save(&file)
	if err == nil {
		err = s.lose(context.Background())
	}
	if err == nil {
		err = s.current().Restore(&file)
	}
	s.restarts.Unlock()
	s.restarts.RLock()
	return s.current(), s.restarts.RUnlock, err
}

func (s *restarting) Visit(ctx context.Context, event string, r driver.Rules, b driver.Beats, v []driver.Visit) (driver.Visited, error) {
	store, done, err := s.restart()
	defer done()
	if err != nil {
		return driver.Visited{}, err
	}
	return store.Visit(ctx, event, r, b, v)
}

func (s *restarting) Look(ctx context.Context, event string, r driver.Rules, epoch, version uint64) (driver.View, error) {
	store, done, err := s.restart()
	defer done()
	if err != nil {
		return driver.View{}, err
	}
	return store.Look(ctx, event, r, epoch, version)
}

func (s *restarting) Admit(ctx context.Context, event string, r driver.Rules) (driver.Admission, error) {
	store, done, err := s.restart()
	defer done()
	if err != nil {
		return driver.Admission{}, err
	}
	return store.Admit(ctx, event, r)
}

func (s *restarting) Sweep(ctx context.Context, event string, r driver.Rules, from int64) (driver.Swept, error) {
	store, done, err := s.restart()
	defer done()
	if err != nil {
		return driver.Swept{}, err
	}
	return store.Sweep(ctx, event, r, from)
}

func restartingHarness(t *testing.T) queuetest.Harness {
	s := &restarting{fragile: fragile{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
	require.NoError(t, s.lose(t.Context()))
	return queuetest.Harness{Store: s, Advance: s.advance, Lose: s.lose}
}

// A walk goes on over restarts as it does without.
func TestWalksOverRestarts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.IntRange(1, 100).Draw(rt, "steps")
		took, err := queuetest.Walk(t.Context(), restartingHarness(t), drawn{rt}, steps)
		require.NoError(rt, err)
		require.Equalf(rt, steps, took, "%d of %d steps on a clock that stands still between them", took, steps)
	})
}
