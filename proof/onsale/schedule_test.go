package onsale

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// Each person acts when due and as often as wished, and nothing runs afterwards.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &schedule{start: time.Now()}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		s.put(3*time.Second, 3)
		s.put(time.Second, 1)
		s.put(time.Minute, 60)
		var mu sync.Mutex
		var acted []deed
		s.run(ctx, 2, func(person int32) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			acted = append(acted, deed{s.now().Round(100 * time.Millisecond), person})
			if person == 3 {
				return -1
			}
			return s.now() + 4*time.Second
		})
		want := []deed{{time.Second, 1}, {3 * time.Second, 3}, {5 * time.Second, 1}, {9 * time.Second, 1}}
		if !slices.Equal(acted, want) {
			t.Errorf("acted %v, want %v", acted, want)
		}
	})
}

// A person who waits for a worker is late.
func TestLateness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &schedule{start: time.Now()}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		s.put(time.Second, 1)
		s.put(time.Second, 2)
		s.run(ctx, 1, func(int32) time.Duration { time.Sleep(3 * time.Second); return -1 })
		if late := s.lateness(); late < 3*time.Second || late > 3*time.Second+2*resolution {
			t.Errorf("%v late", late)
		}
		assert.EqualValues(t, 0, s.lateness(), "late since")
	})
}
