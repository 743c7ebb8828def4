package queuetest_test

import (
	"context"

	"github.com/millrace-go/millrace/queue/driver"
)

// Draw makes a backend a [driver.Drawer].
func (b *backend) Draw(ctx context.Context, event string, r driver.Rules, step driver.DrawStep) (driver.Drawn, error) {
	c := b.call(ctx, event, r)
	if b.draw != nil {
		b.draw(&step)
	}
	return c.store.Draw(c.ctx, c.event, c.r, step)
}

func drawing(alter func(*driver.DrawStep)) hooks {
	return hooks{draw: alter}
}

func drawDefects() []defect {
	return []defect{
		{"opens at once", []string{"closed-until-the-opening", "the-draw-orders-the-line", "a-draw-has-one-holder", "steps-of-a-draw-in-order", "an-opening-is-fixed-by-the-freeze"},
			changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
				change.Opens = nil
				return c.change(change)
			})},
		{"lets every process draw", []string{"a-draw-has-one-holder"}, drawing(func(s *driver.DrawStep) { s.Holder = 1 })},
		{"draws by arrival", []string{"the-draw-orders-the-line", "steps-of-a-draw-in-order"}, drawing(func(s *driver.DrawStep) {
			if s.Kind == driver.DrawMove {
				s.Moves = nil
			}
		})},
		{"moves no user behind those of the freeze", []string{"tickets-between-freeze-and-list"}, drawing(func(s *driver.DrawStep) {
			if s.Kind == driver.DrawMove {
				s.Moves = s.Moves[:1]
			}
		})},
		{"puts no user into a lane before the opening", []string{"a-draw-keeps-the-lanes"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			if !c.state().Opens.IsZero() {
				for i := range visits {
					visits[i].Lane = ""
				}
			}
			return c.visit(beats, visits...)
		}}},
		{"begins the leaves anew at each step", []string{"steps-of-a-draw-in-order"}, drawing(func(s *driver.DrawStep) {
			if s.Kind == driver.DrawLeaves {
				s.From = 0
			}
		})},
		{"draws again after a loss", []string{"a-draw-that-was-held"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			change.Opened = false
			return c.change(change)
		})},
		{"forgets an opening that is cleared", []string{"an-opening-is-fixed-by-the-freeze"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			got, err := c.change(change)
			if change.Clear && err == nil {
				return c.change(driver.Change{Settings: new(int64(1 << 40)), Opens: &got.Now, Opened: true})
			}
			return got, err
		})},
	}
}
