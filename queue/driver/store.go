package driver

import (
	"context"
	"time"
)

// Store keeps the lines of all events. Each call is one atomic step of one event,
// by the store's own clock. Its cost is bounded whatever the length of the line:
// that of Visit by its visits and beats, that of the others by MaxChunk. A store
// may make several steps of a call, in order, so that other calls need not wait for
// long: then other calls come between them, and the state in the answer is that
// after the last step.
//
// An event has an epoch, which is new when the store has lost its state or the room
// was cleared, and an arrival number for each waiting user, its order. The first
// order of an epoch is the time of its start in µs since 1970, so that arrivals
// after a loss are behind all arrivals before it. Orders are at most 2^53.
//
// Errors say by package fault's classes whether a retry may help.
type Store interface {
	// Visit serves up to MaxVisits visits, in their order, and marks up to
	// MaxBeats waiting orders of the epoch as alive. Beats of another epoch, and
	// of orders that do not wait, do nothing.
	Visit(ctx context.Context, event string, r Rules, b Beats, visits []Visit) (Visited, error)
	// Look reads the line, and the blocks that have changed since version of epoch;
	// zero asks for all of them. At most MaxBlocks blocks come at a time: the
	// caller goes on from the version of the answer while View.More. An event that
	// was never used has an epoch as well.
	Look(ctx context.Context, event string, r Rules, epoch, version uint64) (View, error)
	// Admit takes out the users whose time is over, and tells the first of the line
	// that their turn has come, at most MaxChunk: one for each free place without a
	// taker, and one more for each entitled user who is silent. All instances that
	// call it together give at most Rules.Batch turns in each Rules.Tick. A user whose
	// turn has come is entitled: the next Check or Heartbeat takes a free place, if
	// there are more of them than takers with a lower order. Takers are entitled users
	// that have been heard of since, and those whose turn came within Rules.Turn.
	Admit(ctx context.Context, event string, r Rules) (Admission, error)
	// Sweep removes the waiting users without a sign of life for Rules.Seen, of the
	// blocks from the given number on; zero begins. A sweep that begins within
	// Rules.SweepEvery of the last beginning, on any instance, is done at once.
	// Sweep also forgets the event when no user has waited or been active for as
	// long.
	Sweep(ctx context.Context, event string, r Rules, from int64) (Swept, error)
	// Change carries out an operator's change, and returns the state of the room.
	Change(ctx context.Context, event string, r Rules, c Change) (State, error)
	// Events lists the events that may have waiting or active users.
	Events(ctx context.Context) ([]string, error)
}

// Bounds of a call.
const (
	MaxVisits = 500
	MaxBeats  = 500
	MaxChunk  = 500
	MaxBlocks = 256
)

// Rules are a room's, and come with each call. All rooms that share a store should
// bring the same.
type Rules struct {
	Threshold  int           // how many may be active where the operator has set nothing
	Active     time.Duration // how long an active user has, from when they were first seen
	Seen       time.Duration // a user without a sign of life for longer is removed
	NoShow     time.Duration // a turn ends when its user is silent for as long
	Turn       time.Duration // a user whose turn has come is a taker of a place for as long without being heard of; zero is NoShow
	Tick       time.Duration // the turns of Batch users of the line may come in each Tick
	Batch      int
	SweepEvery time.Duration
	Settle     time.Duration // how long a room that lost its state gathers those with a ticket before it admits
	// Keep is how long the order of a user that was swept, or did not come within NoShow, is
	// kept: see [Visit.Until]. Zero keeps none.
	Keep  time.Duration
	Lanes []Lane // at most MaxLanes
	// Closed says that a room is closed, as if it were paused, from when it is new until
	// the first Change with Settings.
	Closed bool
	// Stocked says that no user enters before the first Change with Stock.
	Stocked bool
}

// Beats are what a process tells the store along with its visits: orders with a
// sign of life, and what it knows from earlier answers.
type Beats struct {
	Epoch  uint64
	Orders []int64
	// Heard tells when the process last heard of the epochs that it knows. A room
	// that has lost its data learns from it which tickets it may count: see
	// [Visit.Until]. Those of the present epoch, and empty ones, do nothing.
	Heard [2]Heard
	// Highest is the highest order that the process has seen. The store goes on above
	// it, so that orders are not given out again after its last writes were lost.
	Highest int64
}

// Heard is when a process last heard of an epoch, by the store's clock.
type Heard struct {
	Epoch uint64
	At    time.Time
}

// Lapse is the time without a call after which a store may forget a room, whose
// next epoch is then no sign of a loss: tickets and Beats.Heard from before do not
// count.
const Lapse = 24 * time.Hour

// Kind of a visit.
type Kind uint8

const (
	// Check admits, lines up, or returns the place of the user.
	Check Kind = iota
	// Heartbeat returns the user's place, and lines no user up.
	Heartbeat
	// Leave takes the user out, from the line or from inside.
	Leave
	// Done gives the place of an active user back. It ignores waiting users.
	Done
	// Verify asks whether the user is active by the admission Visit.Entry.
	Verify
)

// Visit is one user's call. Check, Heartbeat and Verify are signs of life.
type Visit struct {
	Kind Kind
	User string // 1 to 256 bytes
	// Position is that of a front gate, from 1; zero without. It counts once, when
	// the user lines up: see [Change.Gate].
	Position int64
	// Epoch, Order and Until are those of the user's ticket, zero without. A Check
	// with a ticket of an epoch that was lost lines up by its order, once, until
	// Rules.Settle after the beginning of the epoch that followed, and if the loss
	// came before Until. The loss is when any process last heard of the room before
	// it, by Beats.Heard; where no process says so, the beginning of the epoch that
	// followed. Tickets from before Clear do not count. A ticket of this epoch, whose
	// order was never given out as far as the store knows, is of a server whose last
	// writes were lost: it counts the same way, until Rules.Seen after Until.
	// A ticket of this epoch, whose order was kept and whose user is outside, makes the
	// user a returner, once, until Rules.Keep after Until.
	Epoch uint64
	Order int64
	Until time.Time
	// Lane is the name of one of Rules.Lanes, or empty. It counts when the user lines up.
	Lane string
	// Entry is the order by which a user was admitted; for Verify.
	Entry int64
}

// Status of a user.
type Status uint8

const (
	// None is neither waiting nor active.
	None Status = iota
	// Waiting is in line.
	Waiting
	// Active may be inside.
	Active
	// Gated was refused a place in line: a front gate is on, and the visit has no
	// position of it, or one that was used before.
	Gated
)

// Outcome of a visit.
type Outcome struct {
	Status Status
	Order  int64         // waiting: the arrival number; active: that of the admission
	Ahead  int           // waiting: how many are before, exactly; silent entitled users count
	Left   time.Duration // active: until the place ends
	New    bool          // by this visit: lined up, let in, or taken out
	Turn   bool          // waiting: the turn has come, and the first free place is this user's
	// Returner says that the user waits among the returners, and not in the line. Ahead are
	// the returners before.
	Returner bool
	// Entered says that this visit itself took the place: a Check that found a free
	// place and an empty line, or the poll of an entitled user.
	Entered bool
}

// Visited answers Visit: an outcome for each visit, and the state of the room after
// the last of them.
type Visited struct {
	State
	Outcomes []Outcome
}

// State of a room. The counts since the epoch began are for rates and metrics.
type State struct {
	Epoch     uint64
	Now       time.Time // the store's clock
	Threshold int
	Paused    bool          // also while Closed
	Closed    bool          // the room is new, and its settings are not known yet: see Rules.Closed
	Settings  int64         // the version of the settings that were brought in last
	Gated     bool          // a front gate is on
	Opens     time.Time     // when the room opens, with a draw; zero without an opening, and once it is open
	Phase     Phase         // of the draw
	Settling  time.Duration // until admission begins, after a loss
	Waiting   int           // in line or among the returners, with or without a turn
	Entitled  int           // of Waiting: their turn has come in the line, and they have no place yet
	Silent    int           // of Entitled: not heard of within Rules.Turn, so that others go before
	Laned     int           // of Waiting: their turn has come in a lane, and they have no place yet
	Returning int           // of Waiting: returners, with or without a turn
	Active    int           // places taken
	Rate      Rate
	Stock     Stock // bounds Active as the threshold does: see [Change.Stock]
	// Lanes are Rules.Lanes with the shares that hold: see [Change.Shares]. The others are zero.
	Lanes [MaxLanes]Lane
	// Challenge is whether newcomers are challenged; nil if no operator has said so: see
	// [Change.Challenge].
	Challenge *bool

	Joined   int64 // lined up or let in at once
	Entered  int64 // let in, from the line or at once
	NoShows  int64 // did not come within NoShow of their turn
	Expired  int64 // were inside until their time was over, or were silent
	Departed int64 // left or were done, from the line or from inside
	Swept    int64 // were removed from the line
	Returned int64 // came back to a kept place

	// Servers is how many servers have kept the room, one after the other; a restart,
	// and a master's first replica, make another one. Each may have lost the last
	// writes of the one before. It is 0 where the store cannot tell.
	Servers int64
	// Stays are of the users inside now and of those that have left; nil of a store
	// that does not count them. They do not change.
	Stays *Stays
}

// Rate of the users from the line that took a place within the last minute: zero Over
// means that there is no data.
type Rate struct {
	Admitted int
	Over     time.Duration
}

// BlockSize is how many orders a block has.
const BlockSize = 1024

// Block says which of the orders from Number*BlockSize on wait: bit i%64 of
// Bits[i/64] is that of order Number*BlockSize+i.
type Block struct {
	Number int64
	Bits   [BlockSize / 64]uint64
}

// View is the answer of Look. Blocks are in order of their numbers within an
// answer; forget a block without a bit. If Full, forget the blocks that are neither
// in this answer nor in those that follow it.
type View struct {
	State
	Version uint64
	Blocks  []Block
	Full    bool
	More    bool
}

// Admitted is a user whose turn has come.
type Admitted struct {
	User  string
	Order int64
	// Laned says of a turn that it came by a lane's share, before the turn in the line.
	Laned bool
}

// Admission answers Admit. More says that more turns could come in this tick; Next
// is when the next tick begins.
type Admission struct {
	State
	Admitted []Admitted
	More     bool
	Next     time.Duration
}

// Swept answers Sweep. The sweep goes on at Next unless it is Done.
type Swept struct {
	State
	Removed int
	Next    int64
	Done    bool
}

// Change is an operator's change; nil and false change nothing.
type Change struct {
	Threshold *int  // 0 admits no one
	Paused    *bool // while paused no user enters; those inside stay
	Clear     bool  // all users out, from the line and from inside; their tickets are worth nothing
	Gate      *Gate
	// Settings is the version of the queue.Setting that Threshold and Paused are of, and ends
	// State.Closed. They change nothing if a later version is known. If nothing was set,
	// it is 0, and the room is paused if it was before it was closed.
	Settings *int64
	// Opens is of the settings as well: when the room opens, and the zero time for no
	// opening. It changes nothing once the room has frozen. Opened says that the draw was
	// held before the store lost its data: users have their orders by their tickets.
	Opens  *time.Time
	Opened bool

	// Shares are of the settings as well: those of lanes by their names, from 0 to below 1, in
	// place of those of Rules.Lanes. A lane that is not named has that of the Rules. nil
	// changes nothing.
	Shares map[string]float64

	// Challenge is State.Challenge from now on. Of the settings nil says that it is not set,
	// and without Settings nil changes nothing. A Clear changes none.
	Challenge *bool

	// Stock is what the event can serve. If it is Known, a place is free only while fewer than
	// Left users have been inside since, those inside now included: a user that leaves may have
	// bought, and frees no place before the next Stock. With At, which is the Now of a State
	// from before the caller asked for it, Gone is how many had left until then, in its Epoch:
	// Entered less Active. The users that have left since then count as gone, too: in another
	// epoch all that have left. Without At none does.
	Stock *Stock
}

// Gate switches a front gate on or off. While it is on, a position is the order: all
// positions above Positions at the moment of switching on are behind the users in
// line by then. Each position lines up one user, once: a Check of a user outside the
// room without a position, or with one that was used, is Gated, so that no other
// position's order is taken. When it is switched off the orders go on above that of
// Positions, the highest that was given out, and a used position counts as none.
// Switching on a gate that is on changes nothing; the same holds for off.
type Gate struct {
	On        bool
	Positions int64
}

// String returns the status as a word: "none", "waiting", "active" or "gated".
func (s Status) String() string {
	switch s {
	case None:
		return "none"
	case Waiting:
		return "waiting"
	case Active:
		return "active"
	case Gated:
		return "gated"
	default:
		return "unknown"
	}
}
