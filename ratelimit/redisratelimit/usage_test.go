package redisratelimit_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

func planOfLimits(t testing.TB, l ratelimit.Limits) *driver.Plan {
	t.Helper()
	p, err := l.Plan()
	require.NoError(t, err)
	return p
}

// usage holds the grants, by the server's clock, which is never set here.
type usage struct {
	t    *testing.T
	plan *driver.Plan
	mu   sync.Mutex
	at   []int64 // in order, as one caller asks at a time
}

// ask takes all free calls, and returns their number.
func (u *usage) ask(s driver.Store) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	g, err := s.Acquire(u.t.Context(), u.plan, driver.Ask{Runs: []driver.Run{{Priority: driver.High, Size: 1, Count: 10_000}}})
	if err != nil {
		return 0, err
	}
	for range g.Runs[0].Granted {
		u.at = append(u.at, g.At)
	}
	return g.Runs[0].Granted, nil
}

// must is ask for a server that has just restarted, which may still be loading.
func (u *usage) must(s driver.Store) int {
	u.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		n, err := u.ask(s)
		if err == nil {
			return n
		}
		if time.Now().After(deadline) {
			u.t.Fatal(err)
		}
	}
}

// gain asks until a call is granted again.
func (u *usage) gain(s driver.Store) {
	u.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); u.must(s) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			u.t.Fatal("nothing is granted any more")
		}
	}
}

// check finds a span with more grants than the bound.
func (u *usage) check() {
	u.t.Helper()
	for from := range u.at {
		for to := from; to < len(u.at); to++ {
			n, span := to-from+1, u.at[to]-u.at[from]
			most := u.plan.Burst + int(span*int64(u.plan.Rate)/1_000_000)
			if u.plan.Strict {
				if span >= u.plan.Window.Microseconds() {
					break
				}
				most = u.plan.Rate
			}
			if n > most {
				u.t.Fatalf("%d were granted within %d µs, at most %d may be", n, span, most)
			}
		}
	}
}

// TestRealTime: two processes take all they can from one budget in real time.
func TestRealTime(t *testing.T) {
	for mode, l := range map[string]ratelimit.Limits{
		"buckets": {HardLimit: 500, Rate: 300, Burst: 40}, "strict": {HardLimit: 500, Rate: 60, Strict: true},
	} {
		for kind, connect := range servers {
			t.Run(mode+"/"+kind, func(t *testing.T) {
				t.Parallel() // a window takes a second
				client := connect(t)
				n := name(t, client)
				u := &usage{t: t, plan: planOfLimits(t, l)}
				u.must(newStore(t, client, n))
				var all sync.WaitGroup
				for range 2 {
					s := newStore(t, client, n)
					all.Go(func() {
						for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
							if _, err := u.ask(s); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				u.gain(newStore(t, client, n))
				u.check()
			})
		}
	}
}
