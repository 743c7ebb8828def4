package ratelimit_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/ratelimit"
)

func mustName(t *testing.T, field string, call func() error) {
	t.Helper()
	if err := call(); err == nil || !strings.Contains(err.Error(), field+" ") {
		t.Errorf("%s: the error is %v", field, err)
	}
}

// TestArithmetic: the burst for 450 calls per second below a hard limit of 500.
func TestArithmetic(t *testing.T) {
	ms := time.Millisecond
	for _, tc := range []struct {
		limits   ratelimit.Limits
		burst    int
		lowBurst int
	}{
		{ratelimit.Limits{Delay: 1 * ms}, 48, 37},
		{ratelimit.Limits{Delay: 20 * ms}, 40, 31},
		{ratelimit.Limits{}, 40, 31},
		{ratelimit.Limits{Delay: 50 * ms}, 26, 20},
		{ratelimit.Limits{Delay: 100 * ms}, 4, 3},
		{ratelimit.Limits{Delay: 20 * ms, Processes: 10}, 31, 24},
		{ratelimit.Limits{Delay: 20 * ms, ClockSteps: true}, 20, 15},
		{ratelimit.Limits{Delay: 20 * ms, ClockSteps: true, Processes: 10}, 15, 11},
		{ratelimit.Limits{Burst: 12}, 12, 9},
		{ratelimit.Limits{Burst: 12, LowBurst: 12}, 12, 12},
		{ratelimit.Limits{Strict: true}, 450, 350},
		{ratelimit.Limits{Strict: true, Processes: 50}, 450, 350},
	} {
		l := tc.limits
		l.HardLimit, l.Rate, l.LowRate = 500, 450, 350
		p, err := l.Plan()
		if err != nil {
			t.Errorf("%+v: %v", tc.limits, err)
			continue
		}
		if p.Burst != tc.burst || p.LowBurst != tc.lowBurst {
			t.Errorf("%+v: Burst %d and LowBurst %d, want %d and %d", tc.limits, p.Burst, p.LowBurst, tc.burst, tc.lowBurst)
		}
	}
}

func TestLimitsThatCannotHoldShowTheArithmetic(t *testing.T) {
	base := ratelimit.Limits{HardLimit: 500, Rate: 450, LowRate: 350}
	for text, change := range map[string]func(*ratelimit.Limits){
		"Burst 450 + Rate 450 * (1 s + Delay 20ms) + Processes 1 = 910 > HardLimit 500; Burst can be at most 40":      func(l *ratelimit.Limits) { l.Burst = 450 },
		"2 (ClockSteps) * Burst 21 + Rate 450 * (1 s + Delay 20ms) + Processes 1 = 502 > HardLimit 500; Burst can be": func(l *ratelimit.Limits) { l.Burst, l.ClockSteps = 21, true },
		"Burst 1 + Rate 450 * (1 s + Delay 200ms) + Processes 1 = 542 > HardLimit 500 even with the least burst":      func(l *ratelimit.Limits) { l.Delay = time.Second / 5 },
		"Burst 1 + Rate 500 * (1 s + Delay 20ms) + Processes 1 = 512 > HardLimit 500":                                 func(l *ratelimit.Limits) { l.Rate = 500 },
		"Rate 450 + Processes 51 = 501 > HardLimit 500; Rate can be at most 449":                                      func(l *ratelimit.Limits) { l.Strict, l.Processes = true, 51 },
		"Limits.ClockSteps cannot be had with Strict":                                                                 func(l *ratelimit.Limits) { l.Strict, l.ClockSteps = true, true },
		"Limits.Burst and LowBurst have no meaning with Strict":                                                       func(l *ratelimit.Limits) { l.Strict, l.Burst = true, 5 },
		"Limits.DayLimit is 1000000000000001; give 1 to 1000000000000000, or 0":                                       func(l *ratelimit.Limits) { l.DayLimit = 1_000_000_000_000_001 },
		"Limits.LowBurst 20 is above Burst 10":                                                                        func(l *ratelimit.Limits) { l.Burst, l.LowBurst = 10, 20 },
	} {
		l := base
		change(&l)
		_, err := ratelimit.New(&budget{}, ratelimit.Config{Limits: l})
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the error is %v, and lacks %q", err, text)
		}
	}
	for field, change := range map[string]func(*ratelimit.Limits){
		"Limits.HardLimit":      func(l *ratelimit.Limits) { l.HardLimit = 0 },
		"Limits.Rate":           func(l *ratelimit.Limits) { l.Rate = 501 },
		"Limits.LowRate":        func(l *ratelimit.Limits) { l.LowRate = 451 },
		"Limits.LowShare":       func(l *ratelimit.Limits) { l.LowShare = new(101) },
		"Limits.Delay":          func(l *ratelimit.Limits) { l.Delay = time.Microsecond },
		"Limits.Transit":        func(l *ratelimit.Limits) { l.Transit = 20 * time.Millisecond },
		"Limits.Processes":      func(l *ratelimit.Limits) { l.Processes = -1 },
		"Limits.Burst":          func(l *ratelimit.Limits) { l.Burst = -1 },
		"Limits.LowBurst":       func(l *ratelimit.Limits) { l.LowBurst = -1 },
		"Limits.DayLimit":       func(l *ratelimit.Limits) { l.DayLimit = -1 },
		"Limits.DayHighReserve": func(l *ratelimit.Limits) { l.DayHighReserve = 1 },
		"Limits.DayOffset":      func(l *ratelimit.Limits) { l.DayOffset = 24 * time.Hour },
	} {
		l := base
		change(&l)
		mustName(t, field, func() error { _, err := l.Plan(); return err })
	}
}

// TestLowShareIsPlanned: 0 turns the share off, and nil is the default.
func TestLowShareIsPlanned(t *testing.T) {
	for want, given := range map[int]*int{5: nil, 0: new(0), 7: new(7), 100: new(100)} {
		l := usual
		l.LowShare = given
		p, err := l.Plan()
		if err != nil || p.LowShare != want || p.Hold <= p.Yield {
			t.Errorf("%v: %+v, %v; want %d %%", given, p, err, want)
		}
	}
	l := usual
	l.LowShare = new(-1)
	mustName(t, "Limits.LowShare", func() error { _, err := l.Plan(); return err })
}

// TestAcceptedPlansHold: every accepted plan keeps the grants of its mode within the hard
// limit, computed here without rounding; and if the burst is derived, one more of burst would
// not.
func TestAcceptedPlansHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := ratelimit.Limits{
			HardLimit: rapid.IntRange(1, 2000).Draw(t, "hard"), Rate: rapid.IntRange(1, 2000).Draw(t, "rate"), LowRate: rapid.IntRange(0, 2000).Draw(t, "low"),
			Delay: time.Duration(rapid.IntRange(0, 500).Draw(t, "delay")) * time.Millisecond, Processes: rapid.IntRange(0, 20).Draw(t, "processes"),
			Burst: rapid.IntRange(0, 100).Draw(t, "burst"), ClockSteps: rapid.Bool().Draw(t, "steps"), Strict: rapid.Bool().Draw(t, "strict"),
		}
		p, err := l.Plan()
		if err != nil {
			return
		}
		// In nanoseconds, as whole numbers.
		second := int64(time.Second)
		processes := int64(max(1, l.Processes)) * second
		most := func(burst int) int64 {
			if p.Strict {
				return int64(p.Rate)*second + processes
			}
			times := int64(1)
			if l.ClockSteps {
				times = 2
			}
			return times*int64(burst)*second + int64(p.Rate)*int64(time.Second+p.Delay) + processes
		}
		if most(p.Burst) > int64(l.HardLimit)*second {
			t.Fatalf("%+v: %s", l, p.Arithmetic)
		}
		if p.LowBurst < 1 || p.LowBurst > p.Burst || p.UseFor <= 0 || p.UseFor > p.Delay || p.Window != time.Second+p.Delay {
			t.Fatalf("%+v gives %+v", l, p)
		}
		if l.Burst == 0 && !p.Strict && p.Burst < p.Rate && most(p.Burst+1) <= int64(l.HardLimit)*second-second {
			t.Fatalf("%+v: a burst of %d would hold too", l, p.Burst+1)
		}
	})
}
