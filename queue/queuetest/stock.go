package queuetest

import (
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

func stockCases() []testCase {
	return []testCase{
		{Name: "stock-bounds-the-places", Run: play(stockBoundsThePlaces)},
		{Name: "an-empty-house-admits-nobody", Run: play(anEmptyHouseAdmitsNobody)},
		{Name: "leaving-returns-no-stock", Run: play(leavingReturnsNoStock)},
		{Name: "leaving-while-the-stock-is-asked", Run: play(leavingWhileTheStockIsAsked)},
		{Name: "returned-seats-are-for-the-line", Needs: []conformance.Need{NeedClock}, Run: play(returnedSeatsAreForTheLine)},
		{Name: "closed-until-the-stock-is-told", Run: play(closedUntilTheStockIsTold)},
		{Name: "a-loss-forgets-the-stock", Needs: []conformance.Need{NeedLoss}, Run: play(aLossForgetsTheStock)},
		{Name: "stock-in-random-order", Run: play(stockInRandomOrder)},
	}
}

// left tells the stock.
func (p *player) left(n int) {
	if s := p.change(driver.Change{Stock: &driver.Stock{Known: true, Left: n}}); !s.Stock.Known || s.Stock.Left != n || !s.Stock.At.Equal(s.Now) || s.Stock.Gone != 0 {
		steps.Fail("at %s a stock of %d was told, and the room is %+v", s.Now, n, s)
	}
}

// gone says how many have left since the stock was told.
func (p *player) gone(n int) {
	if s := p.state(); s.Stock.Gone != n {
		steps.Fail("%d have left since the stock was told, and the room says %d", n, s.Stock.Gone)
	}
}

// unknown tells that the stock is not known.
func (p *player) unknown() {
	if s := p.change(driver.Change{Stock: &driver.Stock{}}); s.Stock.Known || s.Stock.Left != 0 || s.Stock.At.IsZero() {
		steps.Fail("it was told that the stock is not known, and the room is %+v", s)
	}
}

// stockBoundsThePlaces: of newcomers, and of users in line, as the threshold does.
func stockBoundsThePlaces(p *player) {
	p.r = limited(100)
	p.left(2)
	p.enter("a", "b")
	p.join("c", "d", "e", "f", "g")
	p.admits("without stock")
	p.left(4)
	p.admits("of two more", "c", "d")
	p.left(3)
	p.leave("a")
	p.left(3)
	p.admits("of a stock that fell")
	p.threshold(4)
	p.left(driver.MaxStock)
	p.admits("up to the threshold", "e")
	p.left(2)
	p.change(driver.Change{Clear: true})
	p.enter("x", "y")
	p.join("z")
	p.admits("after clearing")
	p.unknown()
	p.admits("by the threshold alone", "z")
}

// anEmptyHouseAdmitsNobody: those whose turn has come wait, until some stock returns.
func anEmptyHouseAdmitsNobody(p *player) {
	p.r = limited(0)
	orders := p.join("a", "b", "c")
	p.threshold(10)
	p.left(2)
	p.calls("two turns", "a", "b")
	p.left(0)
	p.waits(driver.Check, "a", orders[0], 0)
	p.waits(driver.Heartbeat, "b", orders[1], 1)
	p.calls("an empty house")
	p.left(1)
	p.waits(driver.Check, "b", orders[1], 1)
	p.takes(driver.Check, "a", orders[0])
	p.waits(driver.Check, "b", orders[1], 0)
	p.left(3)
	p.calls("one more", "c")
	p.takes(driver.Check, "b", orders[1])
	p.takes(driver.Check, "c", orders[2])
}

// returnedSeatsAreForTheLine: of a house that was sold out, newcomers get none before those
// that wait have polled, or are silent.
func returnedSeatsAreForTheLine(p *player) {
	p.r = limited(10)
	p.r.Turn = 3 * time.Second
	p.left(0)
	orders := p.join("a", "b")
	p.left(9)
	p.calls("two of nine", "a", "b")
	p.h.Advance(time.Second)
	p.join("new")
	p.left(0)
	p.waits(driver.Check, "a", orders[0], 0)
	p.left(9)
	p.takes(driver.Check, "a", orders[0])
	p.calls("the newcomer", "new")
	p.h.Advance(4 * time.Second)
	p.enter("newest")
}

// leavingReturnsNoStock: a user that has left may have bought, which the next answer tells.
func leavingReturnsNoStock(p *player) {
	p.r = limited(100)
	p.left(2)
	p.enter("a", "b")
	p.gone(0)
	p.leave("a", "b")
	p.gone(2)
	p.join("c", "d", "e")
	p.admits("after both have gone")
	p.left(1)
	p.admits("as one bought", "c")
	p.leave("c")
	p.gone(1)
	p.admits("after the third has gone")
	p.left(1)
	p.admits("as the third did not buy", "d")
}

// leavingWhileTheStockIsAsked returns none either: the answer may be from before.
func leavingWhileTheStockIsAsked(p *player) {
	p.r = limited(100)
	p.left(3)
	p.enter("a", "b", "c")
	p.leave("c")
	p.join("d", "e")
	asked := p.state()
	told := func(left int) {
		p.change(driver.Change{Stock: &driver.Stock{Known: true, Left: left, At: asked.Now, Gone: int(asked.Entered) - asked.Active, Epoch: asked.Epoch}})
	}
	p.leave("a")
	told(2)
	p.gone(1)
	p.admits("for the one that left")
	asked = p.state()
	told(2)
	p.gone(0)
	p.admits("by an answer from after that", "d")
	p.change(driver.Change{Clear: true})
	p.enter("x")
	told(2)
	p.gone(0)
	p.enter("y")
	p.leave("x")
	told(2)
	p.gone(1)
}

// stocked is rules of rooms with a stock.
func stocked(threshold int) driver.Rules {
	r := limited(threshold)
	r.Stocked = true
	return r
}

func closedUntilTheStockIsTold(p *player) {
	p.r = stocked(3)
	other := p.other(p.r)
	p.join("a", "b", "c")
	p.admits("before the stock is told")
	p.left(2)
	p.admits("after a stock of 2", "a", "b")
	other.join("x")
	other.unknown()
	other.admits("without a known stock", "x")
	other.enter("y")
}

func aLossForgetsTheStock(p *player) {
	p.r = stocked(10)
	p.left(5)
	p.enter("a")
	p.lose()
	p.join("b")
	if s := p.state(); s.Stock != (driver.Stock{}) {
		steps.Fail("after a loss the stock is %+v", s.Stock)
	}
	p.admits("after a loss")
	p.left(1)
	p.admits("when the stock is told", "b")
}

// stockInRandomOrder: whatever users do, no more of them enter than the last answer allows,
// and all do in the end.
func stockInRandomOrder(p *player) {
	p.r = limited(6)
	src := random(23)
	users := names("u", 20)
	may := 6 // entries until the next answer
	follow := func(all []driver.Visit) {
		got := p.visit(all...)
		for i, o := range got.Outcomes {
			if o.Entered {
				may--
			}
			if may < 0 && o.Entered {
				steps.Fail("%s enters %+v", all[i].User, got.State)
			}
		}
	}
	p.left(may)
	for range 600 {
		user := users[src.IntN(len(users))]
		switch n := src.IntN(10); {
		case n < 5:
			follow(checks(user))
		case n < 7:
			follow(visits(driver.Done, user))
		case n < 9:
			if a := p.admit(); len(a.Admitted) > 0 && a.Entitled > max(0, may) {
				steps.Fail("%d turns come for %d places: %+v", len(a.Admitted), may, a.State)
			}
		default:
			left := src.IntN(10)
			may = left - p.state().Active
			p.left(left)
		}
	}
	may = driver.MaxStock
	p.unknown()
	p.threshold(len(users))
	p.admit()
	follow(checks(users...))
	p.counts("with stock for all", 0, len(users), 0)
}
