package bus_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
)

func TestLowIsHeldWhileHighIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memBus(t)
		var behind atomic.Int64
		var failing atomic.Bool
		b := bus.New("x", lagging{mem.Driver(), func(context.Context) ([]bus.Lag, error) {
			if failing.Load() {
				return nil, errors.New("broker away")
			}
			return []bus.Lag{{Topic: "high", Group: "h", Messages: int(behind.Load())}}, nil
		}})
		var low, high atomic.Int64
		count := func(n *atomic.Int64) message.NoPublishHandlerFunc {
			return func(*message.Message) error {
				time.Sleep(3 * time.Second)
				n.Add(1)
				return nil
			}
		}
		r := start(t, b, bus.RunnerConfig{}, bus.Pair{
			High:      bus.Consumer{Topic: "high", Group: "h", Handler: count(&high)},
			Low:       bus.Consumer{Topic: "low", Group: "l", Handler: count(&low)},
			HoldAbove: 100, ResumeBelow: 50,
			Lag: monitor(t, b, bus.LagMonitorConfig{Every: time.Second}),
		})
		// expect publishes to both topics and checks how many messages of the low topic were
		// handled 20 s later.
		n := 0
		expect := func(when string, lag int, held bool, handled int64, why string) {
			t.Helper()
			behind.Store(int64(lag))
			settle(2 * time.Second) // one interval of the monitor and of the pair
			n++
			publish(t, mem, "low", keyed("k", n))
			publish(t, mem, "high", keyed("k", n))
			settle(20 * time.Second)
			s := r.Status()[1]
			if s.Held != held || !s.Running || low.Load() != handled || !strings.Contains(s.Hold, why) {
				t.Errorf("%s: %d handled, status %+v; want %d, held %t, %q", when, low.Load(), s, handled, held, why)
			}
			if s := r.Status()[0]; !s.Running || s.Paused || s.Held || high.Load() != int64(n) || s.Hold != "" {
				t.Errorf("%s: the high consumer: %d handled, %+v", when, high.Load(), s)
			}
		}
		expect("at the bound", 100, false, 1, "100 behind, holding above 100")
		expect("above it", 101, true, 1, "h of high is 101 behind, resuming at 50")
		expect("between the bounds", 51, true, 1, "51 behind")
		expect("at the lower bound", 50, false, 4, "50 behind, holding above 100")
		expect("between the bounds again", 99, false, 5, "99 behind")
		expect("above it again", 1000, true, 5, "1000 behind")
		failing.Store(true)
		settle(10 * time.Second)
		expect("without an answer", 1000, false, 7, "not known")
		r.stop(t)
		if s := r.Status()[1]; s.Running {
			t.Errorf("after the end: %+v", s)
		}
	})
}

// When low is held back, its messages in flight are finished, and no message is lost.
func TestHoldingLowFinishesWhatIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memBus(t)
		var behind, batches atomic.Int64
		b := bus.New("x", lagging{mem.Driver(), func(context.Context) ([]bus.Lag, error) {
			return []bus.Lag{{Topic: "high", Group: "h", Messages: int(behind.Load())}}, nil
		}})
		r := start(t, b, bus.RunnerConfig{}, bus.Pair{
			High: bus.Consumer{Topic: "high", Group: "h", Handler: noop},
			Low: bus.BatchConsumer{Topic: "low", Group: "l", Size: 2, Wait: 50 * time.Millisecond, Concurrency: 1,
				Handler: func(context.Context, []*message.Message) error {
					batches.Add(1)
					time.Sleep(10 * time.Second)
					return nil
				}},
		})
		for n := 1; n <= 4; n++ {
			publish(t, mem, "low", keyed("k", n))
		}
		settle(time.Second)
		behind.Store(1001) // the runner's own monitor queries every 5 s
		settle(time.Minute)
		if n := lag(t, mem, "low", "l"); n != 2 || batches.Load() != 1 {
			t.Errorf("%d unacknowledged after %d batches; want the first finished and no other begun", n, batches.Load())
		}
		behind.Store(500)
		settle(time.Minute)
		assert.Equal(t, 0, lag(t, mem, "low", "l"), "unacknowledged")
		r.stop(t)
	})
}

func TestLowRunsWhereTheLagIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memBus(t)
		b := bus.New("blind", blind{mem.Driver()})
		r := start(t, b, bus.RunnerConfig{}, bus.Pair{
			High: bus.Consumer{Topic: "high", Group: "h", Handler: noop},
			Low:  bus.Consumer{Topic: "low", Group: "l", Handler: noop},
		})
		publish(t, mem, "low", keyed("k", 1))
		settle(time.Minute)
		if s := r.Status()[1]; s.Handled != 1 || !s.Running || s.Paused || s.Held || !strings.Contains(s.Hold, "not known") {
			t.Errorf("status %+v", s)
		}
		r.stop(t)
	})
}

func TestPairConcurrencyDefaultsToEightAndTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memBus(t)
		var now, most [2]atomic.Int32
		busy := func(i int) message.NoPublishHandlerFunc {
			return func(*message.Message) error {
				most[i].Store(max(most[i].Load(), now[i].Add(1)))
				time.Sleep(time.Second)
				now[i].Add(-1)
				return nil
			}
		}
		for k := range 40 {
			publish(t, b, "high", keyed(string(rune('a'+k)), 1))
			publish(t, b, "low", keyed(string(rune('a'+k)), 1))
		}
		r := start(t, b, bus.RunnerConfig{}, bus.Pair{
			High: bus.Consumer{Topic: "high", Group: "h", Handler: busy(0)},
			Low:  bus.Consumer{Topic: "low", Group: "l", Handler: busy(1)},
		})
		settle(time.Minute)
		r.stop(t)
		if most[0].Load() != 8 || most[1].Load() != 2 {
			t.Errorf("%d and %d at once, want 8 and 2", most[0].Load(), most[1].Load())
		}
	})
}

func TestPairErrors(t *testing.T) {
	high := bus.Consumer{Topic: "high", Group: "h", Handler: noop}
	low := bus.Consumer{Topic: "low", Group: "l", Handler: noop}
	for want, p := range map[string]bus.Pair{
		"High is nil":       {Low: low},
		"Low is nil":        {High: high},
		"Low is a bus.Pair": {High: high, Low: bus.Pair{High: high, Low: low}},
		"both consume high": {High: high, Low: bus.Consumer{Topic: "high", Group: "l", Handler: noop}},
		"HoldAbove is -1":   {High: high, Low: low, HoldAbove: -1},
		"ResumeBelow 6":     {High: high, Low: low, HoldAbove: 5, ResumeBelow: 6},
		"above the default": {High: high, Low: low, ResumeBelow: 2000},
		"Handler is nil":    {High: high, Low: bus.BatchConsumer{Topic: "low", Group: "l"}},
	} {
		r, err := bus.NewRunner(memBus(t), bus.RunnerConfig{})
		require.NoError(t, err)
		if err := r.Add(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		assert.Emptyf(t, r.Status(), "%q: half a pair was added", want)
	}
}
