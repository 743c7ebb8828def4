package artist

import (
	"encoding/json"
	"errors"
	"regexp"
	"time"
)

// Freshness is the state of the data of a [View].
type Freshness string

const (
	// Fresh: the upstream was asked within the last hour.
	Fresh Freshness = "FRESH"
	// Stale: it was asked before that; a refresh is queued.
	Stale Freshness = "STALE"
	// Updating: there is no data yet, and a refresh is waiting.
	Updating Freshness = "UPDATING"
	// NotFound: this is the first request, or the upstream has no such artist.
	NotFound Freshness = "NOT_FOUND"
)

// View is the answer to a reader, in the JSON of GET /api/artists/{id}.
type View struct {
	// Snapshot is the upstream's document without its history; null while there
	// is none.
	Snapshot  json.RawMessage `json:"snapshot"`
	Freshness Freshness       `json:"freshness"`
	// LastUpdatedAt is when the snapshot was last found to have changed, LastCheckedAt
	// when the upstream last answered. Freshness depends on the latter: an artist that
	// never changes is fresh all the same.
	LastUpdatedAt *time.Time `json:"lastUpdatedAt"`
	LastCheckedAt *time.Time `json:"lastCheckedAt"`
	// UpdateQueued reports that a refresh of this artist is in flight.
	UpdateQueued bool `json:"updateQueued"`
	// EstimatedWaitMs is how long the queued refresh will take, judged by how many
	// requests of high priority wait; null when none does, when that is unknown, and
	// when nothing is queued.
	EstimatedWaitMs *int64 `json:"estimatedWaitMs"`
}

// ErrBadID is returned for a string that cannot be an artist's id.
var ErrBadID = errors.New("artist: an id has 1 to 64 letters, digits, _ and -")

var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckID returns ErrBadID or nil.
func CheckID(id string) error {
	if !idForm.MatchString(id) {
		return ErrBadID
	}
	return nil
}
