// Package driver is the interface between a store of counters and package frontgate, for authors
// of stores.
//
//	state, err := store.Assign(ctx, event, 10) // positions up to state.Assigned
//	round, err := store.Advance(ctx, event, 500, 10*time.Second)
//
// Package frontgatetest has the conformance suite, and package memgate is an example.
package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-go/millrace/fault"
)

// Store keeps two counters for each event: the positions given out, and the serving
// counter. It keeps nothing for each waiting visitor but the positions that it is told to
// keep. Each call is one atomic step, by the store's own clock.
//
// The counters of an event begin when its gate is switched on for the first time,
// with an epoch of their own. They go on when it is switched off and on again, and
// are kept while it is on and for at least [Kept] after it was switched off.
//
// Errors say by package fault's classes whether a retry may help. After an error it
// is unknown whether the step was made, unless the package of the store says more:
// positions given out by it are lost.
type Store interface {
	// Assign gives n positions out, the last of which is the State's Assigned, when
	// the gate is on. It gives none out when it is off. n is 1 to MaxAssign.
	Assign(ctx context.Context, event string, n int) (State, error)
	// State returns the state of the gate. An event that was never switched on has
	// the epoch 0.
	State(ctx context.Context, event string) (State, error)
	// Keep returns a position for each ask: the one that was kept first for its member in
	// the counters of the epoch, else that of the ask, which is kept now for at least
	// [Kept], and 0 when neither is there. Each ask is an atomic step of its own. Asks are
	// 1 to MaxAssign, in no order.
	Keep(ctx context.Context, event string, epoch uint64, asks []Ask) ([]int64, error)
	// Advance raises the serving counter by at most by, and never above the
	// positions given out. A gate that is off stays as it is. However many
	// processes call it, the rounds of an event are at least every apart; an
	// earlier call changes nothing. An every of 0 is an operator's call: it takes
	// effect at once, and does not count as a round.
	Advance(ctx context.Context, event string, by int64, every time.Duration) (Round, error)
	// Switch switches the gate on or off. Switching off raises the serving counter
	// to the positions given out. Switching to the present state changes nothing,
	// and switching off an event that was never on makes no counters.
	Switch(ctx context.Context, event string, on bool) (State, error)
	// Events lists the events that have counters, in any order.
	Events(ctx context.Context) ([]string, error)
}

// TableStore is a store whose tables have to exist before it is used, as dynamogate.New returns it.
type TableStore interface {
	Store
	// CreateTables makes the tables where they are missing, and waits until they are ready. It
	// refuses tables that have another key. It is for deployments without a tool that makes
	// them, and needs more rights than the store itself.
	CreateTables(ctx context.Context) error
	// Close ends the connections that the store opened, not those of a client that it was given.
	Close() error
}

const (
	// MaxAssign bounds the positions given out in a call.
	MaxAssign = 1000
	// MaxAdvance bounds the rise of the serving counter in a call.
	MaxAdvance = 1_000_000
	// MaxEvent is the longest id of an event, in bytes.
	MaxEvent = 128
	// MaxMember is the longest name of a member, in bytes. Package frontgate gives a hash.
	MaxMember = 64
	// Kept is how long the counters of a gate stay after it was switched off, and how long
	// positions of members do.
	Kept = 24 * time.Hour
)

// Ask is a member's position to be kept, or a question for the one that is.
type Ask struct {
	Member   string // 1 to MaxMember bytes
	Position int64  // 0 keeps none
}

// State of a gate.
type State struct {
	Epoch uint64 // of the counters: when they began, in µs since 1970; 0 when there are none
	On    bool
	// Assigned is the last position given out, which is the number of positions.
	Assigned int64
	// Serving is the serving counter: positions up to it are admitted.
	Serving int64
	// Opened is the value of Assigned when the gate was last switched on.
	Opened int64
	Now    time.Time // the store's clock
}

// Round answers Advance.
type Round struct {
	State
	Moved int64         // by how much the serving counter was raised
	Next  time.Duration // until the next round may be made; 0 for an operator's, and when the gate is off
}

// CheckEvent refuses invalid event ids; valid are 1 to [MaxEvent] bytes of UTF-8
// without braces, spaces and control characters.
func CheckEvent(event string) error {
	switch {
	case event == "" || len(event) > MaxEvent:
		return Invalid("the event id has %d bytes; give 1 to %d", len(event), MaxEvent)
	case !utf8.ValidString(event):
		return Invalid("the event id %.40q is not UTF-8", event)
	case strings.ContainsFunc(event, func(r rune) bool {
		return r == '{' || r == '}' || unicode.IsSpace(r) || unicode.IsControl(r)
	}):
		return Invalid("the event id %.40q has braces, spaces or control characters", event)
	}
	return nil
}

// CheckAssign refuses invalid arguments of Assign.
func CheckAssign(ctx context.Context, event string, n int) error {
	if n < 1 || n > MaxAssign {
		return Invalid("%d positions; ask for 1 to %d", n, MaxAssign)
	}
	return Check(ctx, event)
}

// CheckKeep refuses invalid arguments of Keep.
func CheckKeep(ctx context.Context, event string, epoch uint64, asks []Ask) error {
	if epoch == 0 || len(asks) < 1 || len(asks) > MaxAssign {
		return Invalid("%d positions of the epoch %d; give 1 to %d, and the epoch of their counters", len(asks), epoch, MaxAssign)
	}
	for _, ask := range asks {
		if ask.Member == "" || len(ask.Member) > MaxMember || ask.Position < 0 {
			return Invalid("the position %d of a member with a name of %d bytes; give a position of 0 or above and 1 to %d bytes", ask.Position, len(ask.Member), MaxMember)
		}
	}
	return Check(ctx, event)
}

// CheckAdvance refuses invalid arguments of Advance.
func CheckAdvance(ctx context.Context, event string, by int64, every time.Duration) error {
	switch {
	case by < 1 || by > MaxAdvance:
		return Invalid("the serving counter by %d; raise it by 1 to %d", by, MaxAdvance)
	case every < 0 || every > Kept || every%time.Millisecond != 0:
		return Invalid("a round every %s; give whole milliseconds up to %s, or 0", every, Kept)
	}
	return Check(ctx, event)
}

// Check refuses an invalid event id, and a context that has ended.
func Check(ctx context.Context, event string) error {
	if err := CheckEvent(event); err != nil {
		return err
	}
	return ctx.Err()
}

// ErrInvalid says that an event id or a number is not valid. Its class is [fault.Permanent].
var ErrInvalid = errors.New("frontgate: invalid")

// Invalid returns an [ErrInvalid] with a reason.
func Invalid(format string, args ...any) error {
	return fault.MarkPermanent(fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...))
}
