package frontgate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/internal/tokens"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/token"
)

// Gate gives positions out and says whose turn it is. Make one with [New]; its
// methods are safe for concurrent use.
type Gate struct {
	store    driver.Store
	cfg      Config
	requests *seal.Requests
	tokens   *tokens.Gates

	mu     sync.Mutex
	events map[string]*known
}

// New makes a gate on a store. It seals request ids and tokens with the keys of the
// ring. All processes of a gate need the same store and secrets. [Gate.Run] raises
// the serving counter.
func New(store driver.Store, ring *token.Ring, cfg Config) (*Gate, error) {
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
	passes, err := tokens.NewGates(ring, tokens.Config{Issuer: cfg.Issuer, Lasts: cfg.Lasts})
	if err != nil {
		return nil, fmt.Errorf("frontgate: %w", err)
	}
	return &Gate{store: store, cfg: cfg, requests: seal.NewRequests(ring), tokens: passes, events: map[string]*known{}}, nil
}

// Place is the place of a visitor at the gate.
type Place struct {
	// RequestID is the argument of [Gate.Check]; fit for a path.
	RequestID string
	Position  int64 // from 1
	// NextPoll is the time until the next poll: 2 to 15 s, longer at greater
	// distances. 0 when admitted.
	NextPoll time.Duration

	// The rest is Check's. Serving is the serving counter: positions up to it are admitted.
	Serving  int64
	Admitted bool
	// Wait is an estimate of the time until admission.
	Wait time.Duration
	// Token is valid until Expires, when admitted.
	Token   string
	Expires time.Time
}

// Assign gives a position out, to a member, or to all that have the request id when
// member is "". A member with a position gets that one again, on any device, for 24 h.
// Concurrent callers share calls of the store. Errors are [ErrOff], [ErrUnavailable] and
// [driver.ErrInvalid].
func (g *Gate) Assign(ctx context.Context, event, member string) (Place, error) {
	// An Assign at a gate that is off costs no more store calls than a poll.
	k, state, err := g.look(ctx, event, 0, time.Time{})
	if err != nil {
		return Place{}, err
	}
	if !state.On {
		return Place{}, ErrOff
	}
	a := assigned{state: state}
	if a.position, err = k.kept(ctx, member, a); err == nil && a.position == 0 {
		if a, err = k.assign(ctx); err == nil {
			a.position, err = k.kept(ctx, member, a)
		}
	}
	if err != nil {
		return Place{}, err
	}
	return g.place(event, member, a), nil
}

// place is the answer to a member with a position.
func (g *Gate) place(event, member string, a assigned) Place {
	return Place{
		RequestID: g.requests.Seal(seal.Request{Event: event, Position: a.position, Epoch: a.state.Epoch, Issued: a.state.Now, Member: member}),
		Position:  a.position,
		NextPoll:  g.nextPoll(a.position - a.state.Serving),
	}
}

// renumber gives a position out to a visitor whose own is used up; 0 when the gate is off.
func (g *Gate) renumber(ctx context.Context, event string) (int64, error) {
	k, _, err := g.look(ctx, event, 0, time.Time{})
	if err != nil {
		return 0, err
	}
	a, err := k.assign(ctx)
	if errors.Is(err, ErrOff) {
		return 0, nil
	}
	return a.position, err
}

// Check says whether the holder of a request id is admitted, by counters that are
// at most Config.Refresh old. A poll costs no call of the store but that refresh. The
// visitor may be known by several members, such as a sign-in and a browser; a request
// id that another member took is not found. Errors are [ErrLost], [ErrUnavailable] and
// [driver.ErrInvalid].
//
// When the gate was switched off, all visitors with a position are admitted, so
// that they continue in their order.
func (g *Gate) Check(ctx context.Context, event, requestID string, members ...string) (Place, error) {
	request, err := g.requests.Open(requestID, event, members...)
	if err != nil {
		return Place{}, fmt.Errorf("%w: %w", errRequest, err)
	}
	k, state, err := g.look(ctx, event, request.Epoch, request.Issued)
	switch {
	case err != nil:
		return Place{}, err
	case state.Epoch != request.Epoch || state.Now.Sub(request.Issued) > driver.Kept:
		return Place{}, ErrLost
	}
	turn := Place{RequestID: requestID, Position: request.Position, Serving: state.Serving}
	if distance := request.Position - state.Serving; distance > 0 {
		turn.NextPoll, turn.Wait = g.nextPoll(distance), k.wait(distance, g.cfg)
		return turn, nil
	}
	now := time.Now()
	turn.Admitted, turn.Expires = true, now.Add(g.tokens.Lasts()).Truncate(time.Second)
	turn.Token, err = g.tokens.Issue(tokens.GateClaims{Event: event, Position: request.Position, Member: request.Member, ID: passID(request.Epoch, requestID), IssuedAt: now})
	if err != nil {
		return Place{}, fmt.Errorf("frontgate: %w", err)
	}
	return turn, nil
}

// passID names the epoch of a token's position, and the request it is for.
func passID(epoch uint64, requestID string) string {
	return strconv.FormatUint(epoch, 36) + "." + requestID
}

// epochOf is 0 for a text that is no passID.
func epochOf(passID string) uint64 {
	text, _, _ := strings.Cut(passID, ".")
	epoch, err := strconv.ParseUint(text, 36, 64)
	if err != nil {
		return 0
	}
	return epoch
}

// way says where a visitor of an event belongs.
type way uint8

const (
	open   way = iota // the gate is off: into the line behind it
	closed            // without a valid token: to the gate
	passed            // with a valid token
)

// decide says where the holder of a token belongs; pass "" for no token. The position
// is the token's, and 0 without a valid one. Tokens of another member and of a lost
// counter are not valid. Errors are [ErrUnavailable] and [driver.ErrInvalid].
func (g *Gate) decide(ctx context.Context, event, text string, members ...string) (way, int64, error) {
	claims, err := g.verify(event, text, members)
	if err != nil {
		claims = tokens.GateClaims{}
	}
	state, position, err := g.position(ctx, event, claims)
	switch {
	case err != nil:
		return closed, 0, err
	case !state.On:
		return open, position, nil
	case position == 0:
		return closed, 0, nil
	}
	return passed, position, nil
}

// Position returns the position of a token, which is its holder's order in the line
// behind the gate. Without a valid token it does not ask the store, and its error has a
// word of [token.Reason]. Other errors are [ErrLost], [ErrUnavailable] and
// [driver.ErrInvalid].
func (g *Gate) Position(ctx context.Context, event, text string, members ...string) (int64, error) {
	claims, err := g.verify(event, text, members)
	if err != nil {
		return 0, fmt.Errorf("frontgate: %w", err)
	}
	_, position, err := g.position(ctx, event, claims)
	if err == nil && position == 0 {
		err = ErrLost
	}
	return position, err
}

// verify reads a token that a visitor with these identities brings.
func (g *Gate) verify(event, text string, members []string) (tokens.GateClaims, error) {
	claims, err := g.tokens.Verify(text, event)
	if err == nil && claims.Member != "" && !slices.Contains(members, claims.Member) {
		err = seal.ErrUser
	}
	return claims, err
}

// position is that of verified claims when their counter still exists, else 0.
func (g *Gate) position(ctx context.Context, event string, claims tokens.GateClaims) (driver.State, int64, error) {
	epoch := epochOf(claims.ID)
	_, state, err := g.look(ctx, event, epoch, claims.IssuedAt)
	if err != nil || epoch == 0 || epoch != state.Epoch {
		return state, 0, err
	}
	return state, claims.Position, nil
}
