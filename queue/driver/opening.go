package driver

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/queue/draw"
)

// FreezeBefore is how long before its opening a room freezes: users that come later
// stand behind all that were there.
const FreezeBefore = 5 * time.Second

// Drawer is a [Store] whose rooms can open at a time. Users that come before wait in
// no order; the steps of a draw give them one.
//
// A step of another kind than DrawLook is done when the room freezes or later, and for
// one holder: for as long as the last step of a holder is less than 3 s ago, those of
// others do nothing. A step that does not fit the phase does nothing.
type Drawer interface {
	Draw(ctx context.Context, event string, r Rules, step DrawStep) (Drawn, error)
}

// DrawKind is a kind of a step.
type DrawKind uint8

const (
	// DrawLook changes nothing, and returns up to Most leaves after From others.
	DrawLook DrawKind = iota
	// DrawFreeze ends the first phase. The waiting users take part; they get the orders
	// above Drawn.Limit, by their places, and users that come later get higher ones.
	DrawFreeze
	// DrawList returns up to Most users that have no new order yet, with an order above From.
	DrawList
	// DrawLeaves adds Leaves after From others; from 0 it begins again.
	DrawLeaves
	// DrawRoot publishes the leaves, of which there are Most, with Root.
	DrawRoot
	// DrawSeed publishes the seed and the value of the beacon.
	DrawSeed
	// DrawMove gives users their new orders, at most MaxMoves; order 0 is the end of the
	// line. Users without a place up to the limit keep what they have.
	DrawMove
	// DrawOpen ends the draw when all users have their new orders.
	DrawOpen
)

// MaxMoves bounds the moves and MaxLeaves the leaves of a step.
const (
	MaxMoves  = 200
	MaxLeaves = 2000
)

// DrawStep is a step of a draw.
type DrawStep struct {
	Kind         DrawKind
	Holder       uint64 // of the process that draws, 1 to 2^53
	From         int64
	Most         int
	Leaves       []draw.Leaf
	Root         []byte
	Seed, Beacon []byte
	Moves        []Admitted
}

// Phase of a room that opens at a time.
type Phase uint8

const (
	// Gathering has users come and go in no order.
	Gathering Phase = iota
	// Frozen has fixed the users that take part.
	Frozen
	// Rooted has published the leaves and their root.
	Rooted
	// Seeded has published the seed and the beacon: users get their orders.
	Seeded
	// Opened has all in their order. The room opens at its time.
	Opened
)

// Drawn answers a step.
type Drawn struct {
	State
	Held         bool // the step was done for its holder, or was a look
	Limit        int64
	Count        int // leaves that were added
	Root         []byte
	Seed, Beacon []byte
	Leaves       []draw.Leaf
	Users        []Admitted
}
