package queuetest

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/queue/driver"
)

func stockCases() []testCase {
	return []testCase{
		{Name: "stock-bounds-the-places", Run: stockBoundsThePlaces},
		{Name: "an-empty-house-admits-nobody", Run: anEmptyHouseAdmitsNobody},
		{Name: "leaving-returns-no-stock", Run: leavingReturnsNoStock},
		{Name: "returned-seats-are-for-the-line", Needs: []conformance.Need{NeedClock}, Run: returnedSeatsAreForTheLine},
		{Name: "closed-until-the-stock-is-told", Run: closedUntilTheStockIsTold},
		{Name: "a-loss-forgets-the-stock", Needs: []conformance.Need{NeedLoss}, Run: aLossForgetsTheStock},
		{Name: "stock-in-random-order", Run: stockInRandomOrder},
	}
}

// left tells the stock.
func (p *player) left(n int) error {
	s, err := p.change(driver.Change{Stock: &driver.Stock{Known: true, Left: n}})
	if err == nil && (!s.Stock.Known || s.Stock.Left != n || !s.Stock.At.Equal(s.Now) || s.Stock.Gone != 0) {
		err = fmt.Errorf("at %s a stock of %d was told, and the room is %+v", s.Now, n, s)
	}
	return err
}

// gone says how many have left since the stock was told.
func (p *player) gone(n int) error {
	s, err := p.state()
	if err == nil && s.Stock.Gone != n {
		err = fmt.Errorf("%d have left since the stock was told, and the room says %d", n, s.Stock.Gone)
	}
	return err
}

// unknown tells that the stock is not known.
func (p *player) unknown() error {
	s, err := p.change(driver.Change{Stock: &driver.Stock{}})
	if err == nil && (s.Stock.Known || s.Stock.Left != 0 || s.Stock.At.IsZero()) {
		err = fmt.Errorf("it was told that the stock is not known, and the room is %+v", s)
	}
	return err
}

func (p *player) leave(users ...string) func() error {
	return func() error { _, err := p.visit(visits(driver.Leave, users...)...); return err }
}

// stockBoundsThePlaces: of newcomers, and of users in line, as the threshold does.
func stockBoundsThePlaces(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(100))
	return steps(
		func() error { return p.left(2) },
		func() error { _, err := p.enter("a", "b"); return err },
		func() error { _, err := p.join("c", "d", "e", "f", "g"); return err },
		func() error { return p.admits("without stock") },
		func() error { return p.left(4) },
		func() error { return p.admits("of two more", "c", "d") },
		func() error { return p.left(3) },
		p.leave("a"),
		func() error { return p.left(3) },
		func() error { return p.admits("of a stock that fell") },
		func() error { return p.threshold(4) },
		func() error { return p.left(driver.MaxStock) },
		func() error { return p.admits("up to the threshold", "e") },
		func() error { return p.left(2) },
		func() error { _, err := p.change(driver.Change{Clear: true}); return err },
		func() error { _, err := p.enter("x", "y"); return err },
		func() error { _, err := p.join("z"); return err },
		func() error { return p.admits("after clearing") },
		func() error { return p.unknown() },
		func() error { return p.admits("by the threshold alone", "z") },
	)
}

// anEmptyHouseAdmitsNobody: those whose turn has come wait, until some stock returns.
func anEmptyHouseAdmitsNobody(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(0))
	orders, err := p.join("a", "b", "c")
	if err != nil {
		return err
	}
	return steps(
		func() error { return p.threshold(10) },
		func() error { return p.left(2) },
		func() error { return p.calls("two turns", "a", "b") },
		func() error { return p.left(0) },
		p.waits(driver.Check, "a", orders[0], 0),
		p.waits(driver.Heartbeat, "b", orders[1], 1),
		func() error { return p.calls("an empty house") },
		func() error { return p.left(1) },
		p.waits(driver.Check, "b", orders[1], 1),
		p.takes(driver.Check, "a", orders[0]),
		p.waits(driver.Check, "b", orders[1], 0),
		func() error { return p.left(3) },
		func() error { return p.calls("one more", "c") },
		p.takes(driver.Check, "b", orders[1]),
		p.takes(driver.Check, "c", orders[2]),
	)
}

// returnedSeatsAreForTheLine: of a house that was sold out, newcomers get none before those
// that wait have polled, or are silent.
func returnedSeatsAreForTheLine(ctx context.Context, h Harness) error {
	r := limited(10)
	r.Turn = 3 * time.Second
	p := newPlayer(ctx, h, r)
	if err := p.left(0); err != nil {
		return err
	}
	orders, err := p.join("a", "b")
	if err != nil {
		return err
	}
	return steps(
		func() error { return p.left(9) },
		func() error { return p.calls("two of nine", "a", "b") },
		func() error { h.Advance(time.Second); return nil },
		func() error { _, err := p.join("new"); return err },
		func() error { return p.left(0) },
		p.waits(driver.Check, "a", orders[0], 0),
		func() error { return p.left(9) },
		p.takes(driver.Check, "a", orders[0]),
		func() error { return p.calls("the newcomer", "new") },
		func() error { h.Advance(4 * time.Second); return nil },
		func() error { _, err := p.enter("newest"); return err },
	)
}

// leavingReturnsNoStock: a user that has left may have bought, which the next answer tells.
func leavingReturnsNoStock(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, limited(100))
	return steps(
		func() error { return p.left(2) },
		func() error { _, err := p.enter("a", "b"); return err },
		func() error { return p.gone(0) },
		p.leave("a", "b"),
		func() error { return p.gone(2) },
		func() error { _, err := p.join("c", "d", "e"); return err },
		func() error { return p.admits("after both have gone") },
		func() error { return p.left(1) },
		func() error { return p.admits("as one bought", "c") },
		p.leave("c"),
		func() error { return p.gone(1) },
		func() error { return p.admits("after the third has gone") },
		func() error { return p.left(1) },
		func() error { return p.admits("as the third did not buy", "d") },
	)
}

// stocked is rules of rooms with a stock.
func stocked(threshold int) driver.Rules {
	r := limited(threshold)
	r.Stocked = true
	return r
}

func closedUntilTheStockIsTold(ctx context.Context, h Harness) error {
	p, other := newPlayer(ctx, h, stocked(3)), newPlayer(ctx, h, stocked(3))
	return steps(
		func() error { _, err := p.join("a", "b", "c"); return err },
		func() error { return p.admits("before the stock is told") },
		func() error { return p.left(2) },
		func() error { return p.admits("after a stock of 2", "a", "b") },
		func() error { _, err := other.join("x"); return err },
		func() error { return other.unknown() },
		func() error { return other.admits("without a known stock", "x") },
		func() error { _, err := other.enter("y"); return err },
	)
}

func aLossForgetsTheStock(ctx context.Context, h Harness) error {
	p := newPlayer(ctx, h, stocked(10))
	return steps(
		func() error { return p.left(5) },
		func() error { _, err := p.enter("a"); return err },
		func() error { return h.Lose(ctx) },
		func() error { _, err := p.join("b"); return err },
		func() error {
			s, err := p.state()
			if err == nil && s.Stock != (driver.Stock{}) {
				err = fmt.Errorf("after a loss the stock is %+v", s.Stock)
			}
			return err
		},
		func() error { return p.admits("after a loss") },
		func() error { return p.left(1) },
		func() error { return p.admits("when the stock is told", "b") },
	)
}

// stockInRandomOrder: whatever users do, no more of them enter than the last answer allows,
// and all do in the end.
func stockInRandomOrder(ctx context.Context, h Harness) error {
	p, src := newPlayer(ctx, h, limited(6)), random(23)
	users := names("u", 20)
	may := 6 // entries until the next answer
	follow := func(all []driver.Visit) error {
		got, err := p.visit(all...)
		for i, o := range got.Outcomes {
			if o.Entered {
				may--
			}
			if may < 0 && o.Entered {
				return fmt.Errorf("%s enters %+v", all[i].User, got.State)
			}
		}
		return err
	}
	if err := p.left(may); err != nil {
		return err
	}
	for range 600 {
		user := users[src.IntN(len(users))]
		var err error
		switch n := src.IntN(10); {
		case n < 5:
			err = follow(checks(user))
		case n < 7:
			err = follow(visits(driver.Done, user))
		case n < 9:
			var a driver.Admission
			if a, err = p.admit(); err == nil && len(a.Admitted) > 0 && a.Entitled > max(0, may) {
				err = fmt.Errorf("%d turns come for %d places: %+v", len(a.Admitted), may, a.State)
			}
		default:
			var s driver.State
			if s, err = p.state(); err == nil {
				left := src.IntN(10)
				may = left - s.Active
				err = p.left(left)
			}
		}
		if err != nil {
			return err
		}
	}
	may = driver.MaxStock
	return steps(
		func() error { return p.unknown() },
		func() error { return p.threshold(len(users)) },
		func() error { _, err := p.admit(); return err },
		func() error { return follow(checks(users...)) },
		func() error { return p.counts("with stock for all", 0, len(users), 0) },
	)
}
