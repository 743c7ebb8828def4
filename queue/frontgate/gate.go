package frontgate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/queue/token"
)

// Gate gives positions out and says whose turn it is. Make one with [New]; its
// methods may be called at once by many.
type Gate struct {
	store    Store
	cfg      Config
	requests *token.Requests
	tokens   *token.Gates

	mu     sync.Mutex
	events map[string]*known
}

// New makes a gate on a store, whose request ids and tokens are sealed with the
// keys of the ring. All processes of a gate have the same store and secrets. Who
// raises the serving counter is [Gate.Run].
func New(store Store, ring *token.Ring, cfg Config) (*Gate, error) {
	if store == nil {
		return nil, errors.New("frontgate: the store is nil; make one with redisgate.New, dynamogate.New or memgate.New")
	}
	if ring == nil {
		return nil, errors.New("frontgate: the ring is nil; make one with token.NewRing")
	}
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	tokens, err := token.NewGates(ring, cfg.tokens())
	if err != nil {
		return nil, fmt.Errorf("frontgate: %w", err)
	}
	return &Gate{store: store, cfg: cfg, requests: token.NewRequests(ring), tokens: tokens, events: map[string]*known{}}, nil
}

// Place is what somebody gets who comes to the gate.
type Place struct {
	RequestID string // what [Gate.Check] asks for; fit for a path
	Position  int64  // from 1
	// NextPoll is when to ask whether it is one's turn.
	NextPoll time.Duration
}

// Assign gives a position out. Callers who come at once share calls of the store.
// Errors are [ErrOff], [ErrUnavailable] and [ErrInvalid].
func (g *Gate) Assign(ctx context.Context, event string) (Place, error) {
	// A gate that is off is asked no more often than polls would.
	k, state, err := g.look(ctx, event, 0, time.Time{})
	if err != nil {
		return Place{}, err
	}
	if !state.On {
		return Place{}, ErrOff
	}
	a, err := k.assigns.Do(ctx, struct{}{})
	switch {
	case err != nil:
		return Place{}, refused(ctx, err)
	case a.position == 0:
		return Place{}, ErrOff
	}
	return Place{
		RequestID: g.requests.Seal(token.Request{Event: event, Position: a.position, Epoch: a.state.Epoch, Issued: a.state.Now}),
		Position:  a.position,
		NextPoll:  g.nextPoll(a.position - a.state.Serving),
	}, nil
}

// Turn says how somebody stands who has a position.
type Turn struct {
	Admitted bool
	Position int64
	// Serving is the serving counter: whose position is up to it is admitted.
	Serving int64
	// NextPoll is when to ask again: 2 to 15 s, the longer the farther away. 0 when
	// admitted.
	NextPoll time.Duration
	// Wait is an estimate of the time until admission.
	Wait time.Duration
	// Token opens the way when admitted, for Expires.
	Token   string
	Expires time.Time
}

// Check says whether it is the turn of who holds a request id, by counters that
// are at most Config.Refresh old. A poll costs no call of the store but that
// refresh. Errors are [ErrRequest], [ErrLost], [ErrUnavailable] and [ErrInvalid].
//
// When the gate was switched off, all who hold a position are admitted, so that
// they go on in their order.
func (g *Gate) Check(ctx context.Context, event, requestID string) (Turn, error) {
	request, err := g.requests.Open(requestID, event)
	if err != nil {
		return Turn{}, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	k, state, err := g.look(ctx, event, request.Epoch, request.Issued)
	switch {
	case err != nil:
		return Turn{}, err
	case state.Epoch != request.Epoch || state.Now.Sub(request.Issued) > Kept:
		return Turn{}, ErrLost
	}
	turn := Turn{Position: request.Position, Serving: state.Serving}
	if distance := request.Position - state.Serving; distance > 0 {
		turn.NextPoll, turn.Wait = g.nextPoll(distance), k.wait(distance, g.cfg)
		return turn, nil
	}
	now := time.Now()
	turn.Admitted, turn.Expires = true, now.Add(g.tokens.Lasts())
	turn.Token, err = g.tokens.Issue(token.GateClaims{Event: event, Position: request.Position, ID: passID(request.Epoch, requestID), IssuedAt: now})
	if err != nil {
		return Turn{}, fmt.Errorf("frontgate: %w", err)
	}
	return turn, nil
}

// passID names the epoch that a token's position is of, and the request it is for.
func passID(epoch uint64, requestID string) string {
	return strconv.FormatUint(epoch, 36) + "." + requestID
}

// epochOf is 0 for what is no passID.
func epochOf(passID string) uint64 {
	text, _, _ := strings.Cut(passID, ".")
	epoch, err := strconv.ParseUint(text, 36, 64)
	if err != nil {
		return 0
	}
	return epoch
}

// Way is where a visitor of an event belongs.
type Way uint8

const (
	// Open is the way when the gate is off: into the line behind it.
	Open Way = iota
	// Closed is that of who has no valid token: to the gate.
	Closed
	// Passed is that of who has one.
	Passed
)

// Decide says where the holder of a token belongs; "" is none. The position is
// the token's, and 0 without a valid one. A token of a counter that was lost is
// none. Errors are [ErrUnavailable] and [ErrInvalid].
func (g *Gate) Decide(ctx context.Context, event, text string) (Way, int64, error) {
	claims, err := g.tokens.Verify(text, event)
	if err != nil {
		claims = token.GateClaims{}
	}
	state, position, err := g.position(ctx, event, claims)
	switch {
	case err != nil:
		return Closed, 0, err
	case !state.On:
		return Open, position, nil
	case position == 0:
		return Closed, 0, nil
	}
	return Passed, position, nil
}

// Position returns the position of a token: what the line behind the gate takes
// as the order of its holder. Without a valid token no store is asked. Errors are
// [ErrToken], [ErrUnavailable] and [ErrInvalid].
func (g *Gate) Position(ctx context.Context, event, text string) (int64, error) {
	claims, err := g.tokens.Verify(text, event)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrToken, err)
	}
	_, position, err := g.position(ctx, event, claims)
	if err == nil && position == 0 {
		err = fmt.Errorf("%w: %w", ErrToken, ErrLost)
	}
	return position, err
}

// position is that of verified claims when their counter is still there, else 0.
func (g *Gate) position(ctx context.Context, event string, claims token.GateClaims) (State, int64, error) {
	epoch := epochOf(claims.ID)
	_, state, err := g.look(ctx, event, epoch, claims.IssuedAt)
	if err != nil || epoch == 0 || epoch != state.Epoch {
		return state, 0, err
	}
	return state, claims.Position, nil
}
