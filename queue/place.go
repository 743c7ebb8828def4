package queue

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// Visitor is the caller.
type Visitor struct {
	User string // 1 to 256 bytes
	// Ticket is that of an earlier Place, empty the first time. A poll with a ticket
	// costs no call of the store; a ticket of another user or event counts as none.
	Ticket string
	// Position is that of a front gate, from 1, which the caller has verified; zero
	// without. It is the order in the line when the user lines up.
	Position int64
	// Lane is the name of one of Config.Lanes, which the caller has verified; "" is the
	// line alone. It counts when the user lines up. A member of a lane has a place in the
	// line as well, and the turn comes by the first of the two.
	Lane string
	// Join is asked, by Check alone, before a user joins who has no ticket of the event or one
	// that is worth nothing, as after [Room.Clear], and before a user comes back to a kept
	// place. After a loss of the store's data, while the line forms again, a ticket is not
	// asked. The state is what this process knows of
	// the room: while the store answers, it is at most about Config.Refresh old.
	// Its error refuses the user, unless the room knows the user by name; Check returns
	// it as it is. nil refuses no user.
	Join func(context.Context, State) error
}

// Place is the place of a visitor.
type Place struct {
	Status   Status
	Position int // from 1; zero unless waiting
	Ahead    int // Position - 1
	Behind   int
	// Wait is the probable wait until admission, when WaitKnown: it is not known
	// while the room is paused, its threshold is 0, or the stock is not enough for all the
	// users before. The wait is probably between
	// WaitLow and WaitHigh, which are far from each other while few users have left.
	Wait, WaitLow, WaitHigh time.Duration
	WaitKnown               bool
	NextPoll                time.Duration // when to come again, with jitter
	Keep                    time.Duration // how long the place is kept without a poll

	// Turn says that the turn of a waiting user has come: the next free place is this
	// user's, with one of the next polls.
	Turn bool
	// Returner says that a waiting user came back to a kept place: see Config.Keep. The
	// position is that among the returners.
	Returner  bool
	Active    int // places taken
	Threshold int
	Waiting   int
	Paused    bool
	Settling  time.Duration // until admission begins again, after the store lost its data
	// SoldOut says that the event has no stock left: no user enters before some of it comes
	// back. See [Config.Stock].
	SoldOut bool
	// Opens is how long until the room opens, and zero once it has. Until then a waiting
	// user has no position: the order is drawn at the opening.
	Opens time.Duration

	// Ticket is for the visitor to bring along. It is the brought ticket while that
	// is still right, or may be right again: after the store lost its data, or since its
	// place is kept. It is a newer one about twice a minute.
	Ticket string
	Entry  Entry // of an active user
}

// Status of a user.
type Status = driver.Status

// The statuses of a user. Only a waiting user has a position, and only an active one may be
// inside. A user is Gated when a front gate is
// on and the visit has no position of it, or one that was used before: then there is no place in line.
const (
	None    = driver.None
	Waiting = driver.Waiting
	Active  = driver.Active
	Gated   = driver.Gated
)

// State is the state of a room, as its store told it last.
type State = driver.State

// Lane is a part of the users of an event, such as members: see Config.Lanes.
type Lane = driver.Lane

// Entry is an admission.
type Entry struct {
	// ID is different for each admission of a user: the jti of an entry token, see
	// [Room.Verify].
	ID string
	// Left is how long the place lasts.
	Left time.Duration
}
