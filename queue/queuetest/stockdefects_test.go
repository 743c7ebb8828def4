package queuetest_test

import (
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

func stockDefects() []defect {
	return []defect{
		{"keeps the stock, and does not follow it", []string{"stock-bounds-the-places", "an-empty-house-admits-nobody", "stock-in-random-order"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			told := change.Stock
			if told != nil && told.Known {
				change.Stock = &driver.Stock{Known: true, Left: driver.MaxStock}
			}
			s, err := c.change(change)
			if told != nil {
				s.Stock.Left = told.Left
			}
			return s, err
		})},
		{"gives returned seats to newcomers", []string{"returned-seats-are-for-the-line"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			c.r.Turn = time.Microsecond
			return c.visit(beats, visits...)
		}}},
		{"admits before the stock is told", []string{"closed-until-the-stock-is-told", "a-loss-forgets-the-stock"}, hooks{
			visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
				c.r.Stocked = false
				return c.visit(beats, visits...)
			},
			admit: func(_ *backend, c call) (driver.Admission, error) {
				c.r.Stocked = false
				return c.admit()
			},
		}},
		{"takes who has gone for one that did not buy", []string{"leaving-returns-no-stock", "stock-in-random-order"}, hooks{visit: func(_ *backend, c call, beats driver.Beats, visits []driver.Visit) (driver.Visited, error) {
			got, err := c.visit(beats, visits...)
			if err == nil && got.Stock.Known {
				got.Stock.Epoch = got.Epoch
				_, err = c.change(driver.Change{Stock: &got.Stock})
			}
			return got, err
		}}},
		{"does not hear who left while the stock was asked for", []string{"leaving-while-the-stock-is-asked"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			if change.Stock != nil {
				change.Stock = &driver.Stock{Known: change.Stock.Known, Left: change.Stock.Left}
			}
			return c.change(change)
		})},
		{"forgets the stock when it is cleared", []string{"stock-bounds-the-places"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			if change.Clear {
				change.Stock = &driver.Stock{}
			}
			return c.change(change)
		})},
		{"takes an unknown stock for an empty one", []string{"stock-bounds-the-places", "closed-until-the-stock-is-told"}, changing(func(_ *backend, c call, change driver.Change) (driver.State, error) {
			unknown := change.Stock != nil && !change.Stock.Known
			if unknown {
				change.Stock = &driver.Stock{Known: true}
			}
			s, err := c.change(change)
			s.Stock.Known = s.Stock.Known && !unknown
			return s, err
		})},
	}
}
