package artist

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Refreshing is the result of a request for a refresh, in the JSON of POST
// /api/artists/{id}/refresh.
type Refreshing struct {
	Status RefreshStatus `json:"status"`
	// LastCheckedAt is as that of a [View].
	LastCheckedAt *time.Time `json:"lastCheckedAt"`
	// EstimatedWaitMs is as that of a [View]; null unless the status is QUEUED.
	EstimatedWaitMs *int64 `json:"estimatedWaitMs"`
}

// RefreshStatus is the state of a request for a refresh.
type RefreshStatus string

const (
	// RefreshQueued: it is stored, and is about to be asked for.
	RefreshQueued RefreshStatus = "QUEUED"
	// RefreshWaiting: it is stored, and is asked for as soon as possible; at the moment
	// the broker or Redis refuses.
	RefreshWaiting RefreshStatus = "WAITING"
	// RefreshChecked: the upstream was asked a moment ago, and nothing is done.
	RefreshChecked RefreshStatus = "CHECKED"
)

// refreshEvery is how old a check must be before [Reader.Refresh] asks for another.
const refreshEvery = 10 * time.Second

// ErrUnknown is returned by Refresh for an artist that the upstream does not have.
var ErrUnknown = errors.New("artist: the upstream has no such artist")

// RestingError is returned by Refresh for an artist whose last refresh has failed
// for good.
type RestingError struct {
	// For is how long the artist is not asked for.
	For time.Duration
}

func (e *RestingError) Error() string {
	return fmt.Sprintf("artist: the last refresh failed; the artist is left alone for another %v", e.For.Round(time.Second))
}

// Refresh has an artist refreshed at a member's wish. When it returns
// without an error the wish is in the database, and outlives this process; it is
// coalesced with other requests for the artist. It fails with ErrBadID, ErrUnknown,
// a *RestingError, or when the database does.
func (x *Reader) Refresh(ctx context.Context, id string) (Refreshing, error) {
	if err := CheckID(id); err != nil {
		return Refreshing{}, err
	}
	r, _, err := x.read(ctx, id)
	if err != nil {
		return Refreshing{}, err
	}
	out := Refreshing{Status: RefreshQueued, LastCheckedAt: when(r.checked)}
	switch {
	case r.missing > 0 && r.age() < missingFor:
		return Refreshing{}, ErrUnknown
	case r.resting():
		return Refreshing{}, &RestingError{For: time.Duration(r.retry-r.at) * time.Millisecond}
	case r.checked > 0 && r.age() < refreshEvery:
		out.Status = RefreshChecked
		return out, nil
	case !r.waits():
		if err := x.deferrals.deferred(ctx, []ask{{id: id, reason: UserRequest, request: requestID(ctx)}}); err != nil {
			return Refreshing{}, fmt.Errorf("artist: refresh %s: %w", id, err)
		}
		x.deferrals.repeat.Wake()
	}
	if !x.asks.promises() {
		out.Status = RefreshWaiting
		return out, nil
	}
	out.EstimatedWaitMs = x.estimatedWait()
	return out, nil
}
