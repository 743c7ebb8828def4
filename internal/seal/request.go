package seal

import (
	"errors"
	"slices"
	"time"
)

// Request is a position that a front gate gave out.
type Request struct {
	Event    string
	Position int64
	Epoch    uint64    // of the counter that the position is from
	Issued   time.Time // in ms
	// Member holds the position. It is empty for a position of all that have the
	// request id.
	Member string
}

// Requests seals and opens the request ids of a front gate: the holder of a request
// id has its position. A request id is bound to its event and its member, names
// neither of them, and is 56 characters of base64url, which fit into a path as they are.
type Requests struct{ sealer *sealer }

// NewRequests makes a Requests with the keys of a ring.
func NewRequests(ring *Ring) *Requests {
	return &Requests{sealer: newSealer(ring, "request", timedSize)}
}

// Seal makes the request id. Issued has to be between 1970 and the year 10889.
func (r *Requests) Seal(request Request) string {
	var room [64]byte
	p := payload{a: request.Epoch, b: request.Position, timed: true, ms: request.Issued.UnixMilli()}
	return string(r.sealer.seal(room[:0], p, request.Event, request.Member))
}

// Open reads a request id of an event. Members are the identities of the visitor, none
// for an unknown one. Errors are [ErrMissing], [ErrMalformed] and [ErrSignature], which
// is also that of another member's. The caller decides how old a request may be.
func (r *Requests) Open(text, event string, members ...string) (Request, error) {
	for _, member := range append(slices.Clip(members), "") {
		p, err := r.sealer.open(text, event, member)
		switch {
		case err == nil:
			return Request{Event: event, Position: p.b, Epoch: p.a, Issued: time.UnixMilli(p.ms), Member: member}, nil
		case !errors.Is(err, ErrSignature):
			return Request{}, err
		}
	}
	return Request{}, ErrSignature
}
