package event

// attr numbers the attributes that have a field in Event, in the order in which the encoders
// write them. Both codecs and the validation iterate over this list.
type attr uint8

const (
	attrExtension attr = iota // an attribute without a field of its own
	attrSpecVersion
	attrID
	attrSource
	attrType
	attrSubject
	attrTime
	attrDataContentType
	attrDataSchema
	attrAggregateType // the first extension attribute
	attrPartitionKey
	attrDataVersion
	attrSequence
	attrCorrelationID
	attrCausationID
	attrActorID
	attrTargetID
	attrRefID
	attrPriority
	attrTraceParent
	attrTraceState
	attrEnd
)

// specVersion is the only version of CloudEvents that is read and written.
const specVersion = "1.0"

// attrNames holds the attribute names on the wire.
var attrNames = [attrEnd]string{
	attrSpecVersion:     "specversion",
	attrID:              "id",
	attrSource:          "source",
	attrType:            "type",
	attrSubject:         "subject",
	attrTime:            "time",
	attrDataContentType: "datacontenttype",
	attrDataSchema:      "dataschema",
	attrAggregateType:   "aggregatetype",
	attrPartitionKey:    "partitionkey",
	attrDataVersion:     "dataversion",
	attrSequence:        "sequence",
	attrCorrelationID:   "correlationid",
	attrCausationID:     "causationid",
	attrActorID:         "actorid",
	attrTargetID:        "targetid",
	attrRefID:           "refid",
	attrPriority:        "priority",
	attrTraceParent:     "traceparent",
	attrTraceState:      "tracestate",
}

// core reports whether CloudEvents itself defines the attribute and its type. Every other
// attribute is an extension, which may also be a boolean or an integer.
func (a attr) core() bool { return attrExtension < a && a < attrAggregateType }

// lookup returns the attribute of a lower-case name. A switch over constants costs a few
// comparisons and, unlike a map, no hashing.
func lookup(name string) attr {
	switch name {
	case "specversion":
		return attrSpecVersion
	case "id":
		return attrID
	case "source":
		return attrSource
	case "type":
		return attrType
	case "subject":
		return attrSubject
	case "time":
		return attrTime
	case "datacontenttype":
		return attrDataContentType
	case "dataschema":
		return attrDataSchema
	case "aggregatetype":
		return attrAggregateType
	case "partitionkey":
		return attrPartitionKey
	case "dataversion":
		return attrDataVersion
	case "sequence":
		return attrSequence
	case "correlationid":
		return attrCorrelationID
	case "causationid":
		return attrCausationID
	case "actorid":
		return attrActorID
	case "targetid":
		return attrTargetID
	case "refid":
		return attrRefID
	case "priority":
		return attrPriority
	case "traceparent":
		return attrTraceParent
	case "tracestate":
		return attrTraceState
	default:
		return attrExtension
	}
}

// text returns the field that holds the attribute as a string, or nil for the attributes of
// other types: specversion, time and sequence.
func (e *Event) text(a attr) *string {
	switch a {
	case attrID:
		return &e.ID
	case attrSource:
		return &e.Source
	case attrType:
		return &e.Type
	case attrSubject:
		return &e.AggregateID
	case attrDataContentType:
		return &e.DataContentType
	case attrDataSchema:
		return &e.DataSchema
	case attrAggregateType:
		return &e.AggregateType
	case attrPartitionKey:
		return &e.PartitionKey
	case attrDataVersion:
		return &e.Version
	case attrCorrelationID:
		return &e.CorrelationID
	case attrCausationID:
		return &e.CausationID
	case attrActorID:
		return &e.ActorID
	case attrTargetID:
		return &e.TargetID
	case attrRefID:
		return &e.RefID
	case attrPriority:
		return (*string)(&e.Priority)
	case attrTraceParent:
		return &e.TraceParent
	case attrTraceState:
		return &e.TraceState
	default:
		return nil
	}
}

// lower is strings.ToLower for ASCII only: no other letter may become one that is allowed in a
// name.
func lower(name string) string {
	for i := range len(name) {
		if 'A' <= name[i] && name[i] <= 'Z' {
			b := []byte(name)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return name
}
