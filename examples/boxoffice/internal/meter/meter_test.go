package meter_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/meter"
	"github.com/millrace-go/millrace/ratelimit"
)

func TestNew(t *testing.T) {
	for name, c := range map[string]struct {
		store meter.Store
		cfg   meter.Config
		want  string
	}{
		"no store":      {nil, meter.Config{}, "NewRedis"},
		"a long time":   {meter.NewMemory(), meter.Config{Timeout: time.Second}, "less than 1 s"},
		"negative time": {meter.NewMemory(), meter.Config{Timeout: -1}, "less than 1 s"},
	} {
		if _, err := meter.New(c.store, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	m := newMeter(t, meter.NewMemory(), meter.Config{})
	for _, n := range []int{-1, 0, meter.MaxSeries + 1} {
		if _, err := m.Series(t.Context(), n); err == nil || !strings.Contains(err.Error(), "1 to 120") {
			t.Errorf("a series of %d seconds: %v", n, err)
		}
	}
}

// TestSeconds counts at the edges of seconds; synctest's clock starts on one.
func TestSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(t, meter.NewMemory(), meter.Config{})
		run(t, m)
		began := time.Now().Unix()
		m.Count(ratelimit.High, 1)
		m.Count(ratelimit.Low, 0)
		m.Count(ratelimit.Low, -3)
		time.Sleep(time.Second - time.Nanosecond)
		m.Count(ratelimit.Low, 2)
		time.Sleep(time.Nanosecond)
		m.Count(ratelimit.High, 4)
		m.Count(ratelimit.Low, 8)
		time.Sleep(2*time.Second - time.Nanosecond)
		if got := series(t, m, 2)[1]; got != (meter.Second{Unix: began, High: 1, Low: 2}) {
			t.Errorf("one nanosecond before the second second may be told, the last is %+v", got)
		}
		time.Sleep(time.Nanosecond)
		want := []meter.Second{{Unix: began - 1}, {Unix: began, High: 1, Low: 2}, {Unix: began + 1, High: 4, Low: 8}}
		for i, got := range series(t, m, 3) {
			if got != want[i] {
				t.Errorf("%+v, want %+v", got, want[i])
			}
		}
		assert.Equal(t, meter.MaxSeries, len(series(t, m, meter.MaxSeries)), "seconds")
		assert.EqualValues(t, 0, m.Dropped(), "were dropped")
	})
}

// TestSecondsGoByTheStore: the clocks of the stores differ much from the clock of the
// process.
func TestSecondsGoByTheStore(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Minute, -1300 * time.Millisecond, 400 * time.Millisecond, 5 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := &hurt{Memory: meter.NewMemory(), ahead: ahead}
			m := newMeter(t, store, meter.Config{})
			run(t, m)
			synctest.Wait() // it has asked for the time
			made := time.Now().Add(ahead).Unix()
			m.Count(ratelimit.High, 7)
			time.Sleep(3 * time.Second)
			// A meter that only reads learns the time by that.
			for name, m := range map[string]*meter.Meter{"the meter": m, "another": newMeter(t, store, meter.Config{})} {
				for _, s := range series(t, m, 10) {
					assert.Equalf(t, (s.High == 7), (s.Unix == made), "%s ahead: %s tells %+v, want 7 at %d only", ahead, name, s, made)
				}
			}
		})
	}
}

func TestConcurrentCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(t, meter.NewMemory(), meter.Config{})
		run(t, m)
		var callers sync.WaitGroup
		for i := range 8 {
			callers.Go(func() {
				for n := range 3000 {
					m.Count(ratelimit.Priority(i%2), 1)
					if n%300 == 299 {
						time.Sleep(time.Duration(90+i) * time.Millisecond)
					}
				}
			})
		}
		callers.Wait()
		time.Sleep(3 * time.Second)
		high, low := sum(series(t, m, 60))
		if high != 12000 || low != 12000 || m.Dropped() != 0 {
			t.Errorf("%d and %d were counted, %d dropped; want 12000, 12000 and 0", high, low, m.Dropped())
		}
	})
}

func TestStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said lines
		store := &hurt{Memory: meter.NewMemory()}
		m := newMeter(t, store, meter.Config{Logger: said.logger()})
		run(t, m)
		store.set(true, false)
		for range 3 {
			m.Count(ratelimit.Low, 5)
			time.Sleep(time.Second)
		}
		time.Sleep(50 * time.Millisecond)
		if _, err := m.Series(t.Context(), 1); !errors.Is(err, errAway) {
			t.Errorf("the series of a store that is away: %v", err)
		}
		assert.EqualValues(t, 15, m.Dropped(), "were dropped")
		if n := said.count("not written down"); n != 1 {
			t.Errorf("the outage is logged %d times, want once", n)
		}
		store.set(false, false)
		m.Count(ratelimit.Low, 1)
		time.Sleep(3 * time.Second)
		if _, low := sum(series(t, m, 10)); low != 1 || m.Dropped() != 15 {
			t.Errorf("after it %d are counted and %d dropped, want 1 and 15", low, m.Dropped())
		}
	})
}

// TestStoreHangs: the store never answers. No call takes longer than the timeout, and
// Count does not wait.
func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hurt{Memory: meter.NewMemory(), hangs: true}
		m := newMeter(t, store, meter.Config{Timeout: 300 * time.Millisecond, Logger: (&lines{}).logger()})
		end := run(t, m)
		began := time.Now()
		for range 1000 {
			m.Count(ratelimit.High, 1)
		}
		assert.EqualValues(t, 0, time.Since(began), "counting took")
		if _, err := m.Series(t.Context(), 5); err == nil || time.Since(began) != 300*time.Millisecond {
			t.Errorf("after %s the series is %v", time.Since(began), err)
		}
		began = time.Now()
		end()
		if took := time.Since(began); took > 600*time.Millisecond {
			t.Errorf("Run ends after %s", took)
		}
		assert.EqualValues(t, 1000, m.Dropped(), "were dropped")
	})
}

// TestRunNotRunning counts for longer than a meter remembers.
func TestRunNotRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(t, meter.NewMemory(), meter.Config{})
		for range 20 {
			m.Count(ratelimit.High, 3)
			time.Sleep(time.Second)
		}
		m.Count(ratelimit.Low, 70_000)
		time.Sleep(3 * time.Second)
		run(t, m)
		synctest.Wait()
		high, low := sum(series(t, m, 60))
		if high != 3*15 || low != 70_000 {
			t.Errorf("%d and %d were kept, want 45 and 70000", high, low)
		}
		if n := m.Dropped(); n != 3*20+70_000-high-low {
			t.Errorf("%d were dropped, and %d counted", n, high+low)
		}
	})
}

func TestLastSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := meter.NewMemory()
		m := newMeter(t, store, meter.Config{})
		end := run(t, m)
		time.Sleep(1500 * time.Millisecond)
		m.Count(ratelimit.High, 9)
		end()
		time.Sleep(2 * time.Second)
		if high, _ := sum(series(t, newMeter(t, store, meter.Config{}), 5)); high != 9 {
			t.Errorf("%d of the last second were written, want 9", high)
		}
	})
}

// TestIdle: without calls nothing is written.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hurt{Memory: meter.NewMemory()}
		end := run(t, newMeter(t, store, meter.Config{}))
		time.Sleep(time.Minute)
		end()
		if store.calls != 1 {
			t.Errorf("the store was called %d times, want once for its time", store.calls)
		}
	})
}

func TestMemoryForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := meter.NewMemory()
		began := time.Now().Unix()
		add := func(unix int64) {
			_, err := store.Add(t.Context(), []meter.Second{{Unix: unix, High: 1}})
			require.NoError(t, err)
		}
		kept := func() (n int64) {
			seconds, _, err := store.Read(t.Context(), began, 1000)
			require.NoError(t, err)
			n, _ = sum(seconds)
			return n
		}
		for i := range int64(300) {
			add(began + i)
			time.Sleep(time.Second)
		}
		add(began) // too old by now
		assert.EqualValues(t, 180, kept(), "seconds are kept")
		time.Sleep(time.Hour)
		add(time.Now().Unix())
		if n := kept(); n != 0 {
			t.Errorf("after an hour %d seconds are kept", n)
		}
	})
}
