package logsub_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

// A message that was done behind an undone one is not redelivered after an orderly stop, for any
// sequence of members; after a crash it is.
func TestAnOrderlyStopRepeatsNothing(t *testing.T) {
	cfg := logsub.Config{Partitions: 1, Holder: "pod-1"}
	// take fetches n messages and acknowledges them, except those of the key open.
	take := func(t *testing.T, s *logsub.Source, n int, open string) {
		t.Helper()
		for range n {
			if d := next(t, s); !strings.HasPrefix(text(d), open) {
				d.Done()
			}
		}
	}
	// rest returns the messages that a member still gets.
	rest := func(t *testing.T, s *logsub.Source) (all []string) {
		t.Helper()
		for d := fetch(t, s, time.Minute); d != nil; d = fetch(t, s, time.Minute) {
			all = append(all, text(d))
		}
		return all
	}
	// begin leaves k#1 open, and has j#1 to j#20 done behind it; j#21 to j#25 were not fetched.
	begin := func(t *testing.T) (*memory, *instance, *logsub.Source) {
		t.Helper()
		m := newMemory()
		i := start(t, m, cfg)
		i.publish("k#1")
		i.publish(series("j", 1, 25)...)
		s := i.subscribe(100)
		take(t, s, 21, "k")
		return m, i, s
	}
	left := append([]string{"k#1"}, series("j", 21, 25)...)
	all := append([]string{"k#1"}, series("j", 1, 25)...)
	stop := func(t *testing.T, s *logsub.Source) {
		t.Helper()
		require.NoError(t, s.Close())
	}
	for name, c := range map[string]struct {
		between func(t *testing.T, m *memory, i *instance, s *logsub.Source)
		want    []string
	}{
		"stopped": {func(t *testing.T, _ *memory, _ *instance, s *logsub.Source) { stop(t, s) }, left},
		"crashed": {func(_ *testing.T, _ *memory, i *instance, _ *logsub.Source) { i.link.cut.Store(true) }, all},
		"stopped again without progress": {func(t *testing.T, m *memory, _ *instance, s *logsub.Source) {
			stop(t, s)
			for range 3 {
				s := start(t, m, cfg).subscribe(100)
				take(t, s, 1, "k")
				stop(t, s)
			}
		}, left},
		"stopped again with a smaller window": {func(t *testing.T, m *memory, _ *instance, s *logsub.Source) {
			stop(t, s)
			s = start(t, m, cfg).subscribe(4)
			take(t, s, 4, "k") // k#1, j#21 to j#23
			stop(t, s)
		}, []string{"k#1", "j#24", "j#25"}},
		"stopped, then crashed": {func(t *testing.T, m *memory, _ *instance, s *logsub.Source) {
			stop(t, s)
			i := start(t, m, cfg)
			take(t, i.subscribe(100), 6, "k")
			i.link.cut.Store(true)
		}, left},
		"stopped, then crashed after progress": {func(t *testing.T, m *memory, _ *instance, s *logsub.Source) {
			stop(t, s)
			i := start(t, m, cfg)
			s = i.subscribe(1)
			next(t, s).Done()
			next(t, s) // j#21: the cursor passes the messages that were done before
			time.Sleep(time.Second)
			i.link.cut.Store(true)
		}, series("j", 21, 25)},
		"the cursor was set back": {func(t *testing.T, m *memory, _ *instance, s *logsub.Source) {
			d := fetch(t, s, time.Minute)
			for ; text(d) != "j#25"; d = next(t, s) {
				d.Done()
			}
			stop(t, s)
			m.mu.Lock()
			row := m.cursors[lane0]
			row.last = 7
			m.cursors[lane0] = row
			m.mu.Unlock()
		}, series("j", 7, 25)},
		"what was kept cannot be read": {func(t *testing.T, m *memory, _ *instance, s *logsub.Source) {
			stop(t, s)
			m.mu.Lock()
			known := m.starts[lane0]
			known.Done = known.Done[:strings.Index(known.Done, " ")] + " %"
			m.starts[lane0] = known
			m.mu.Unlock()
		}, all},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, i, s := begin(t)
				c.between(t, m, i, s)
				last := start(t, m, cfg)
				s = last.subscribe(100)
				if got := rest(t, s); !slices.Equal(got, c.want) {
					t.Fatalf("%v came, want %v", got, c.want)
				}
			})
		})
	}
}

// Once every message is done, the cursor is behind all of them, and no stored state remains.
func TestWhatWasKeptIsPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		i.publish(series("k", 1, 10)...)
		s := i.subscribe(100)
		var first driver.Delivery
		for n := range 10 {
			if d := next(t, s); n == 0 {
				first = d
			} else {
				d.Done()
			}
		}
		require.NoError(t, s.Close())
		first.Done() // too late
		if m.starts[lane0].Done == "" {
			t.Fatal("nothing was kept")
		}
		s = i.subscribe(100)
		next(t, s).Done()
		i.publish("k#11")
		next(t, s).Done()
		time.Sleep(time.Second)
		assert.EqualValues(t, 11, m.done(lane0), "the cursor")
		if got := m.starts[lane0]; got != (logsub.Start{}) {
			t.Errorf("%+v is kept of a partition that is done", got)
		}
	})
}
