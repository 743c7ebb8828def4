package artist

import (
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/fault"
)

// Topics, and their consumer groups.
const (
	TopicHigh   = "update-priority-high"
	TopicLow    = "update-priority-low"
	DeadLetters = "update-dlq"
	GroupHigh   = "high-worker"
	GroupLow    = "low-worker"
)

// UpdateRequest is the type of the events on both topics.
const UpdateRequest = "UpdateRequest"

// Reason why a refresh is asked for.
type Reason string

// The reasons.
const (
	CacheMiss   Reason = "CACHE_MISS"   // a read of an artist that is not here
	TooOld      Reason = "STALE"        // a read of one that is too old
	Prefetched  Reason = "PREFETCH"     // no read
	UserRequest Reason = "USER_REQUEST" // an explicit wish for a refresh
)

const schemaVersion = "1.1"

// Request is the data of UpdateRequest. OCID is the artist's id at the upstream,
// which here is the same.
type Request struct {
	SchemaVersion string         `json:"schemaVersion"`
	CharacterID   string         `json:"characterId"`
	OCID          string         `json:"ocid"`
	Priority      event.Priority `json:"priority"`
	Reason        Reason         `json:"reason"`
	RequestedAt   time.Time      `json:"requestedAt"`
	Version       int64          `json:"version"`
}

// topicOf is the topic of requests of a priority.
func topicOf(p event.Priority) string {
	if p == event.High {
		return TopicHigh
	}
	return TopicLow
}

// newRequest makes the event. Its key is the artist's id, which is also the key of
// the coalescer, so that consumers can recognise obsolete requests.
func newRequest(id string, p event.Priority, reason Reason, version int64) (event.Event, error) {
	e, err := event.New(UpdateRequest, events.Source, Request{
		SchemaVersion: schemaVersion, CharacterID: id, OCID: id, Priority: p, Reason: reason,
		RequestedAt: time.Now().UTC(), Version: version,
	})
	if err != nil {
		return event.Event{}, err
	}
	e.AggregateType, e.AggregateID, e.Priority, e.Sequence = "artist", id, p, uint64(version)
	return e, nil
}

// requestOf reads the event.
func requestOf(e event.Event) (Request, error) {
	var r Request
	if err := e.UnmarshalData(&r); err != nil {
		return Request{}, &Failure{Reason: ParseError, err: fault.MarkPermanent(err)}
	}
	if err := CheckID(r.CharacterID); err != nil {
		return Request{}, &Failure{Reason: ParseError, err: fault.MarkPermanent(err)}
	}
	return r, nil
}
