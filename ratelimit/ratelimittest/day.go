package ratelimittest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

func dayCases() []testCase {
	return []testCase{
		{Name: "day-and-its-reserve", Run: dayAndItsReserve},
		{Name: "day-survives-a-loss", Run: daySurvivesALoss},
		{Name: "day-and-a-clock-set-back", Run: dayAndAClockSetBack},
	}
}

// daily returns limits of 100 a day, 30 of them for high; the day begins at 09:00 UTC.
func daily(l ratelimit.Limits) ratelimit.Limits {
	l.DayLimit, l.DayHighReserve, l.DayOffset = 100, 30, 9*time.Hour
	return l
}

// spend takes up to n calls, with pauses, and returns how many it got.
func (p *player) spend(priority driver.Priority, n int, seen *driver.DayCount) (got int, last driver.Grant, err error) {
	for range 20 {
		p.h.Move(2 * p.plan.Window)
		if last, err = p.askSeen(*seen, driver.Run{Priority: priority, Size: 1, Count: n - got}); err != nil {
			return got, last, err
		}
		*seen = last.Day
		if got += last.Runs[0].Granted; got == n {
			break
		}
	}
	return got, last, nil
}

func (p *player) spends(when string, priority driver.Priority, n, want int, seen *driver.DayCount) error {
	got, last, err := p.spend(priority, n, seen)
	if err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	if got != want {
		return fmt.Errorf("%s: %d of %d %s calls were granted, want %d", when, got, n, priority, want)
	}
	if reason := last.Runs[0].Reason; want < n && reason != driver.ReasonDay {
		return fmt.Errorf("%s: the others are refused for %q, want %q", when, reason, driver.ReasonDay)
	}
	return nil
}

func dayAndItsReserve(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, l := range []ratelimit.Limits{daily(limits), daily(strict)} {
		p := steps.Get(full(ctx, h, l))
		steps.Do(p.midnight())
		var none driver.DayCount
		if err := inTurn(
			func() error { return p.spends("low", low, 1000, 70, &none) },
			func() error { return p.spends("high", high, 20, 20, &none) },
			func() error { return p.spends("low beside the reserve", low, 1, 0, &none) },
			func() error { h.Move(time.Minute); return p.remains("20 of the reserve used", 0, 10) },
			func() error { return p.spends("high", high, 1000, 10, &none) },
		); err != nil {
			return err
		}
		g := steps.Get(p.ask(one(high)))
		end := time.UnixMicro(g.At).Add(g.Runs[0].RetryAfter).UTC()
		if end.Sub(end.Truncate(24*time.Hour)) != 9*time.Hour {
			return fmt.Errorf("the day is over at %s, want 09:00 UTC", end)
		}
		if g.Day.Used != 100 || g.Day.Day != time.UnixMicro(g.At).Add(-9*time.Hour).Unix()/86400 {
			return fmt.Errorf("the count is %+v at %s, want 100 of the day that began at 09:00", g.Day, time.UnixMicro(g.At).UTC())
		}
		steps.Do(p.exact(one(high)))
		steps.Do(p.spends("the next day", low, 1000, 69, &none))
	}
	return nil
}

// midnight moves to the beginning of the upstream's next day.
func (p *player) midnight() error {
	g, err := p.ask(one(low))
	if err != nil {
		return err
	}
	since := time.UnixMicro(g.At).Add(-p.plan.Day.Offset)
	p.h.Move(since.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(since))
	return nil
}

func daySurvivesALoss(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	p := steps.Get(full(ctx, h, daily(limits)))
	steps.Do(p.midnight())
	var seen, old, nothing driver.DayCount
	return inTurn(
		func() error { return p.spends("first", high, 50, 50, &seen) },
		func() error { old = seen; return p.spends("then", high, 10, 10, &seen) },
		func() error { return p.spends("somebody who has seen nothing", high, 5, 5, &nothing) },
		func() error { return h.Lose(ctx) },
		// The highest count decides: 65, also for processes that have seen less.
		func() error { return p.spends("after a loss", high, 5, 5, &driver.DayCount{}) },
		func() error { return p.spends("with an old count", high, 1, 1, &old) },
		func() error { seen.Used = 65; return p.spends("with the count", high, 1000, 35, &seen) },
		func() error { return p.spends("and without", high, 1, 0, &driver.DayCount{}) },
	)
}

// dayAndAClockSetBack goes over midnight and back: the used calls of the new day stay used, and
// the new day is not given twice.
func dayAndAClockSetBack(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	for _, gone := range []string{"nothing", "state", "caller's count"} {
		steps.Do(h.Lose(ctx))
		p := steps.Get(full(ctx, h, daily(limits)))
		steps.Do(p.midnight())
		var seen driver.DayCount
		lose := func() error {
			switch gone {
			case "state":
				return h.Lose(ctx)
			case "caller's count":
				seen = driver.DayCount{}
			}
			return nil
		}
		if err := inTurn(
			func() error { h.Move(-time.Hour); return p.spends("an hour before midnight", high, 1000, 99, &seen) },
			func() error { h.Move(2 * time.Hour); return p.spends("after midnight", high, 60, 60, &seen) },
			func() error { h.Move(-2 * time.Hour); return lose() },
			func() error { return p.spends("before midnight again", high, 10, 10, &seen) },
			func() error { h.Move(2 * time.Hour); return p.spends("after midnight again", high, 1000, 30, &seen) },
			func() error { h.Move(24 * time.Hour); return p.spends("a day later", high, 1000, 100, &seen) },
			// A date months ahead is a mistake, which must not block for months.
			func() error { h.Move(100 * 24 * time.Hour); return p.spends("months later", high, 50, 50, &seen) },
			func() error { h.Move(-100 * 24 * time.Hour); return p.spends("set right", high, 1, 1, &seen) },
			func() error { h.Move(24 * time.Hour); return p.spends("a day after that", high, 1000, 100, &seen) },
		); err != nil {
			return fmt.Errorf("with %s lost: %w", gone, err)
		}
	}
	return nil
}
