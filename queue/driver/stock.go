package driver

import (
	"math"
	"time"
)

// Stock is how many users an event can still serve, as the store was told last.
type Stock struct {
	// Known is false without queue.Config.Stock, and when it has not answered for too long.
	Known bool
	// Left is how many users the event could serve at At, those inside then included.
	Left int
	// At is when the store was told, by its own clock. It is zero before the first time.
	At time.Time
	// Gone is how many users have left since At. They may have bought, so each has one of
	// Left until the store is told again.
	Gone int
	// Epoch is that of Gone, in a Change.
	Epoch uint64
}

// MaxStock is the greatest Stock.Left: a greater answer of queue.Config.Stock counts as that.
const MaxStock = math.MaxInt32

// SoldOut says that the stock is used up: no user enters before some of it comes back.
func (s State) SoldOut() bool { return s.Stock.Known && s.Stock.Left == 0 }

// HeldByStock says that users wait, and that more of them could enter by the threshold
// than by the stock.
func (s State) HeldByStock() bool {
	return s.Stock.Known && s.Stock.Left < s.Threshold && s.Waiting > 0
}
