package queue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/queue/driver"
)

// opened is a room whose users came within the last seconds.
func opened(threshold int, active time.Duration, age time.Duration) State {
	return State{
		Threshold: threshold, Active: threshold, Waiting: 10_000,
		Stays: &driver.Stays{
			Active: active, NoShow: 150 * time.Second, Tick: time.Second, Batch: 100, Over: age + time.Second,
			Inside: []driver.Cohort{{Users: threshold, Age: age}},
		},
	}
}

// steady is a room that was full for long, by stays of a mean length of mean.
func steady(threshold int, mean time.Duration) State {
	s := opened(threshold, 600*time.Second, 0)
	const users = 10_000
	for i := range users { // the quantiles of an exponential distribution
		s.Stays.Ended[driver.StayBucket(time.Duration(-math.Log((float64(i)+0.5)/users)*float64(mean)))]++
	}
	s.Stays.Over, s.Stays.Inside = time.Hour, nil
	for i := 20; i >= 0; i-- {
		share := math.Exp(-float64(i)/5) - math.Exp(-float64(i+1)/5)
		s.Stays.Inside = append(s.Stays.Inside, driver.Cohort{Users: int(float64(threshold) * share), Age: time.Duration((float64(i) + 0.5) / 5 * float64(mean))})
	}
	return s
}

func TestEstimate(t *testing.T) {
	const second, minute = time.Second, time.Minute
	settling, few, free, lowered, missing := steady(1000, 100*second), steady(20, 3*minute), opened(1000, 600*second, second), steady(1000, 100*second), steady(1000, 100*second)
	settling.Settling = 40 * second
	few.Waiting = 100
	free.Active, free.Stays.Inside = 0, nil
	lowered.Threshold = 500
	missing.NoShows, missing.Stays.Came = 5000, 5000
	some := opened(1000, 600*second, 300*second)
	some.Stays.Ended[driver.StayBucket(10*second)] = 50
	capped := steady(100_000, 100*second)
	for _, tc := range []struct {
		name      string
		position  int
		state     State
		low, high time.Duration
	}{
		{"the opening: nobody has left", 100, opened(1000, 600*second, 10*second), 5 * minute, 12 * minute},
		{"… and later", 100, opened(1000, 600*second, 500*second), 45 * second, 110 * second},
		{"… behind all of the first", 5000, opened(1000, 600*second, 10*second), 25 * minute, 55 * minute},
		{"a long stay allowed", 100, opened(1000, 3600*second, 10*second), 30 * minute, 65 * minute},
		{"ten a second", 1000, steady(1000, 100*second), 85 * second, 115 * second},
		{"… far behind", 50_000, steady(1000, 100*second), 4500 * second, 5600 * second},
		{"… the first", 1, steady(1000, 100*second), 1, 2 * second},
		{"a small room", 20, few, 2 * minute, 4 * minute},
		{"an empty room: the batch", 1000, free, 9 * second, 12 * second},
		{"a large room: the batch", 10_000, capped, 85 * second, 115 * second},
		{"a lowered threshold: half must leave first", 1, lowered, 55 * second, 85 * second},
		{"every second user does not come", 9000, missing, 400 * second, 550 * second},
		{"… far behind", 100_000, missing, 4500 * second, 5600 * second},
		{"some left at once, and the others stay", 500, some, 100 * second, 400 * second},
		{"settling", 1000, settling, 125 * second, 155 * second},
		{"for ever", math.MaxInt, steady(1, 100*second), math.MaxInt64, math.MaxInt64},
	} {
		if got, known := EstimateWait(tc.state, tc.position); got < tc.low || got > tc.high || !known {
			t.Errorf("%s: %v, %v; want from %v to %v", tc.name, got, known, tc.low, tc.high)
		}
	}
}

// TestUnknownWait: none is told while no user is admitted.
func TestUnknownWait(t *testing.T) {
	paused, closed, unknown := steady(10, time.Minute), steady(10, time.Minute), steady(10, time.Minute)
	paused.Paused, closed.Threshold, unknown.Stays = true, 0, nil
	for name, s := range map[string]State{"paused": paused, "threshold 0": closed, "a store that does not count": unknown} {
		if wait, known := EstimateWait(s, 5); known || wait != 0 {
			t.Errorf("%s: %v, %v", name, wait, known)
		}
	}
}

// TestWaitRange: the less users have left, the wider it is, and all waits grow with
// the position.
func TestWaitRange(t *testing.T) {
	opening, going := opened(100, 600*time.Second, time.Second), steady(100, time.Minute)
	young, old := newForecast(&opening), newForecast(&going)
	if y, o := young.after(0, 50), old.after(0, 50); y.high < 3*y.low || o.high > 6*o.low/5 || o.low > o.probable || o.high < o.probable {
		t.Errorf("at the opening %v, and later %v", y, o)
	}
	for _, f := range []*forecast{young, old} {
		last := 0.0
		for position := 1; position < 20_000; position += 7 {
			if s := f.wait(position); s < last || math.IsNaN(s) {
				t.Fatalf("position %d waits %v s, and an earlier one %v s", position, s, last)
			} else {
				last = s
			}
		}
	}
}

func TestStayBucket(t *testing.T) {
	c := curveOf(&driver.Stays{})
	for bucket := range driver.StayBuckets {
		from := time.Duration(c.from[bucket] * float64(time.Second))
		if got := driver.StayBucket(from + time.Millisecond); got != bucket {
			t.Errorf("%v is in bucket %d, want %d", from, got, bucket)
		}
		if got := driver.StayBucket(from - time.Millisecond); bucket > 1 && got != bucket-1 {
			t.Errorf("less than %v is in bucket %d, want %d", from, got, bucket-1)
		}
	}
	assert.Equal(t, driver.StayBuckets-1, driver.StayBucket(1000*time.Hour), "1000 hours are in bucket")
}

func BenchmarkForecast(b *testing.B) {
	s := steady(1000, 100*time.Second)
	s.Waiting = 1_000_000
	b.ReportAllocs()
	for b.Loop() {
		newForecast(&s)
	}
}
