package queuetest_test

import (
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// sweeping is a defect of sweeps.
func sweeping(sweep func(b *backend, c call, from int64) (driver.Swept, error)) hooks {
	return hooks{sweep: sweep}
}

// beating is a defect that alters the beats.
func beating(alter func(c call, b driver.Beats) driver.Beats) hooks {
	return hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
		return c.visit(alter(c, beats), visits...)
	}}
}

func sweepDefects() []defect {
	return []defect{
		{"sweeps too soon", []string{"sweep-removes-the-silent", "random-walks"}, sweeping(func(_ *backend, c call, from int64) (driver.Swept, error) {
			c.r.Seen /= 3
			return c.sweep(from)
		})},
		{"sweeps nobody", []string{"sweep-removes-the-silent", "sweep-in-chunks", "sweep-guard", "beats-that-do-nothing", "random-walks"},
			sweeping(func(_ *backend, c call, from int64) (driver.Swept, error) {
				c.r.Seen = 1000 * time.Hour
				return c.sweep(from)
			})},
		{"loses the first beat", []string{"sweep-removes-the-silent", "beats-that-do-nothing", "random-walks"}, beating(func(_ call, b driver.Beats) driver.Beats {
			b.Orders = b.Orders[min(1, len(b.Orders)):]
			return b
		})},
		{"loses the last of many beats", []string{"sweep-removes-the-silent"}, beating(func(_ call, b driver.Beats) driver.Beats {
			b.Orders = b.Orders[:min(len(b.Orders), 250)]
			return b
		})},
		{"hears beats of other epochs", []string{"beats-that-do-nothing"}, beating(func(c call, b driver.Beats) driver.Beats {
			b.Epoch = c.state().Epoch
			return b
		})},
		{"lines up orders that beat", []string{"beats-that-do-nothing"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			got, err := c.visit(beats, visits...)
			if err == nil && len(beats.Orders) > 0 && got.Waiting > 0 {
				_, err = c.visit(driver.Beats{}, driver.Visit{User: "a beat"})
			}
			return got, err
		}}},
		{"sweeps without a bound", []string{"sweep-in-chunks", "sweep-removes-the-silent"}, sweeping(func(_ *backend, c call, from int64) (driver.Swept, error) {
			removed := 0
			for {
				s, err := c.sweep(from)
				if removed += s.Removed; err != nil || s.Done {
					s.Removed = removed
					return s, err
				}
				from = s.Next
			}
		})},
		{"ends a sweep with its first chunk", []string{"sweep-in-chunks", "sweep-removes-the-silent"}, sweeping(func(_ *backend, c call, from int64) (driver.Swept, error) {
			s, err := c.sweep(from)
			s.Done, s.Next = true, 0
			return s, err
		})},
		{"sweeps as often as it is asked", []string{"sweep-guard"}, sweeping(func(_ *backend, c call, from int64) (driver.Swept, error) {
			if s, err := c.sweep(0); from == 0 && (err != nil || s.Removed > 0) {
				return s, err
			}
			return c.sweep(max(1, from))
		})},
		{"sweeps once", []string{"sweep-removes-the-silent", "sweep-guard", "random-walks"}, sweeping(func(_ *backend, c call, from int64) (driver.Swept, error) {
			c.r.SweepEvery = 1000 * time.Hour
			return c.sweep(from)
		})},
	}
}
