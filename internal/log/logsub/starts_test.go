package logsub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

// When a partition is started for the third time without progress, its messages are handled
// alone, and it knows which message was being handled when its processes died.
func TestStartsWithoutProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		cfg := logsub.Config{Partitions: 1, Holder: "pod-1"}
		i := start(t, m, cfg)
		i.publish(series("k", 1, 400)...)
		// die is a start that ends with the process, before any position is written.
		die := func(begin bool) (alone bool, deaths int) {
			t.Helper()
			i := start(t, m, cfg)
			d := next(t, i.subscribe(300)).(driver.Suspected)
			if alone = d.Alone(); alone && begin {
				var err error
				if deaths, err = d.Begin(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			i.link.cut.Store(true)
			return alone, deaths
		}
		for n, want := range []struct {
			alone  bool
			deaths int
		}{{}, {}, {true, 0}, {true, 1}, {true, 2}} {
			if alone, deaths := die(true); alone != want.alone || deaths != want.deaths {
				t.Errorf("start %d: alone %t after %d deaths, want %t after %d", n+1, alone, deaths, want.alone, want.deaths)
			}
		}
		// Messages that were handled alone are not suspects; 256 of them end the suspicion.
		last := start(t, m, cfg)
		s := last.subscribe(300)
		for n := range 256 {
			d := next(t, s)
			suspect := d.(driver.Suspected)
			if !suspect.Alone() {
				t.Fatalf("message %d is not alone", n+1)
			}
			_, err := suspect.Begin(t.Context())
			require.NoError(t, err)
			require.NoError(t, suspect.End(t.Context()))
			d.Done()
		}
		assert.False(t, next(t, s).(driver.Suspected).Alone(), "the suspicion has no end")
		time.Sleep(time.Second)
		synctest.Wait()
		m.mu.Lock()
		defer m.mu.Unlock()
		if got := m.starts[lane0]; got != (logsub.Start{}) {
			t.Errorf("after progress %+v is known", got)
		}
	})
}

// Orderly stops are not crashes, with progress or without.
func TestOrderlyStopsAreNoCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		for range 5 {
			i := start(t, m, one)
			i.publish("k#1")
			s := i.subscribe(10)
			require.False(t, next(t, s).(driver.Suspected).Alone(), "a partition is suspected after orderly stops")
			require.NoError(t, s.Close())
		}
	})
}

// The death of an idle process says nothing about later messages.
func TestIdleStartsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		cfg := logsub.Config{Partitions: 1, Holder: "pod-1"}
		for range 5 {
			i := start(t, m, cfg)
			silent(t, i.subscribe(10), time.Second)
			i.link.cut.Store(true)
		}
		i := start(t, m, cfg)
		i.publish("k#1")
		assert.False(t, next(t, i.subscribe(10)).(driver.Suspected).Alone(), "a partition is suspected whose processes died while it was empty")
	})
}
