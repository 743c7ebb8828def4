package event

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/fault"
)

// Priority of an update request. The zero value means that the event carries none.
type Priority string

// The two priorities.
const (
	High Priority = "HIGH"
	Low  Priority = "LOW"
)

// Event is the envelope of everything that Millrace moves: a CloudEvents 1.0
// event with the extension attributes of the table in the package comment.
// An Event is a value; copies share Data and Extensions, which nobody may
// change after the event was made.
type Event struct {
	ID     string    // attribute id: the idempotency key; a UUID v7 by default
	Type   string    // attribute type, e.g. "PaymentSuccess"
	Source string    // attribute source: a URI reference, the service that produced it
	Time   time.Time // attribute time, UTC

	AggregateType string // extension aggregatetype: what kind of thing it is about
	AggregateID   string // attribute subject: which one; the default partition key
	PartitionKey  string // extension partitionkey: overrides AggregateID for ordering
	Version       string // extension dataversion: schema version of Data, "v1" by default
	Sequence      uint64 // extension sequence: version of the aggregate; 0 means none

	CorrelationID string // extension correlationid: the request this belongs to
	CausationID   string // extension causationid: id of the event that caused this one

	ActorID  string   // extension actorid: who did it
	TargetID string   // extension targetid: to whom
	RefID    string   // extension refid: about what (post, comment, vote …)
	Priority Priority // extension priority

	TraceParent string // extension traceparent (W3C trace context)
	TraceState  string // extension tracestate

	DataContentType string // attribute datacontenttype; [JSON] by default
	DataSchema      string // attribute dataschema: a URI, optional
	Data            []byte // attribute data: JSON by default, any bytes with a content type

	// Extensions holds attributes that have no field above, as a foreign
	// producer set them, in their canonical string form. Names are lower-case
	// letters and digits.
	Extensions map[string]string
}

// New makes an event of the given type and source with a fresh UUID v7, the
// current time, version "v1" and data marshaled as JSON. Nil data stays empty;
// a json.RawMessage is taken as it is. Set further fields on the result.
//
// It returns an error for data that does not marshal, and for a type or source
// that [Event.Validate] refuses.
func New(typ, source string, data any) (Event, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Event{}, fmt.Errorf("event: make an id: %w", err)
	}
	e := Event{
		ID: id.String(), Type: typ, Source: source, Time: time.Now().UTC(),
		Version: "v1", DataContentType: JSON,
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

// Key is what orders the event: PartitionKey, else AggregateID, else "". Events
// of one key are handled in order; all keyless events count as one key.
func (e Event) Key() string {
	if e.PartitionKey != "" {
		return e.PartitionKey
	}
	return e.AggregateID
}

// CausedBy returns e as a child of parent: it takes the parent's correlation id
// (or the parent's own id when that has none) and names the parent as its cause.
func (e Event) CausedBy(parent Event) Event {
	e.CorrelationID = parent.CorrelationID
	if e.CorrelationID == "" {
		e.CorrelationID = parent.ID
	}
	e.CausationID = parent.ID
	return e
}

// UnmarshalData decodes JSON data into v. Data of another content type is an
// error that names it. Errors are permanent: a handler may return them as they
// are.
func (e Event) UnmarshalData(v any) error {
	if !isJSON(e.DataContentType) {
		return fault.MarkPermanent(fmt.Errorf("event: data of %q %q is %q, not JSON", e.Type, e.ID, e.DataContentType))
	}
	if err := json.Unmarshal(e.Data, v); err != nil {
		return fault.MarkPermanent(fmt.Errorf("event: decode the data of %q %q: %w", e.Type, e.ID, err))
	}
	return nil
}
