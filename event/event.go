package event

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/fault"
)

// Priority is the priority of an update request. The zero value means that the event has none.
type Priority string

// The two priorities.
const (
	High Priority = "HIGH"
	Low  Priority = "LOW"
)

// Event is the envelope of all events of Millrace: a CloudEvents 1.0 event with the extension
// attributes of the table in the package comment. An Event is a value; copies share Data and
// Extensions, which must not change after the event was made.
type Event struct {
	ID     string    // attribute id: the idempotency key; a UUID v7 by default
	Type   string    // attribute type, e.g. "PaymentSuccess"
	Source string    // attribute source: a URI reference, the service that produced it
	Time   time.Time // attribute time, UTC

	AggregateType string // extension aggregatetype: the kind of entity that the event is about
	AggregateID   string // attribute subject: the id of the entity; the default partition key
	PartitionKey  string // extension partitionkey: overrides AggregateID for ordering
	Version       string // extension dataversion: schema version of Data, "v1" by default
	Sequence      uint64 // extension sequence: version of the aggregate; 0 means none

	CorrelationID string // extension correlationid: the request that the event belongs to
	CausationID   string // extension causationid: id of the event that caused this one

	ActorID  string   // extension actorid: the user that acted
	TargetID string   // extension targetid: the user that is affected
	RefID    string   // extension refid: the related object (post, comment, vote …)
	Priority Priority // extension priority

	TraceParent string // extension traceparent (W3C trace context)
	TraceState  string // extension tracestate

	DataContentType string // attribute datacontenttype; application/json by default
	DataSchema      string // attribute dataschema: a URI, optional
	Data            []byte // attribute data: JSON by default, any bytes with a content type

	// Extensions holds attributes without a field above, as a foreign producer set them, in
	// their canonical string form. Names are lower-case letters and digits.
	Extensions map[string]string
}

// New returns an event of the given type and source with a new UUID v7, the current time,
// version "v1" and data marshaled as JSON. Nil data stays empty; a json.RawMessage is used as
// it is. Set further fields on the result.
//
// New returns an error for data that does not marshal, and for a type or source that
// [Event.Validate] refuses.
func New(typ, source string, data any) (Event, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Event{}, fmt.Errorf("event: make an id: %w", err)
	}
	e := Event{
		ID: id.String(), Type: typ, Source: source, Time: time.Now().UTC(),
		Version: "v1", DataContentType: jsonType,
	}
	if err := e.checkAttributes(); err != nil {
		return Event{}, fault.MarkPermanent(fmt.Errorf("event: %w", err))
	}
	if data != nil {
		if e.Data, err = json.Marshal(data); err != nil {
			return Event{}, fault.MarkPermanent(fmt.Errorf("event: marshal the data of %s: %w", typ, err))
		}
	}
	return e, nil
}

// Key is the ordering key of the event: PartitionKey, else AggregateID, else "". Events of one
// key are handled in order; all events without a key count as one key.
func (e Event) Key() string {
	if e.PartitionKey != "" {
		return e.PartitionKey
	}
	return e.AggregateID
}

// CausedBy returns e as a child of parent: e takes the parent's correlation id (or the parent's
// own id when it has none) and names the parent as its cause.
func (e Event) CausedBy(parent Event) Event {
	e.CorrelationID = parent.CorrelationID
	if e.CorrelationID == "" {
		e.CorrelationID = parent.ID
	}
	e.CausationID = parent.ID
	return e
}

// UnmarshalData decodes JSON data into v. Data of another content type is an error that names
// the type. Errors are permanent: a handler may return them unchanged.
func (e Event) UnmarshalData(v any) error {
	if !isJSON(e.DataContentType) {
		return fault.MarkPermanent(fmt.Errorf("event: data of %q %q is %q, not JSON", e.Type, e.ID, e.DataContentType))
	}
	if err := json.Unmarshal(e.Data, v); err != nil {
		return fault.MarkPermanent(fmt.Errorf("event: decode the data of %q %q: %w", e.Type, e.ID, err))
	}
	return nil
}
