package event

import (
	"strconv"
	"time"
)

// builder builds an event from attributes that arrive one by one, in any order and any
// encoding, and validates the result.
type builder struct {
	event Event
	seen  uint32 // bit per attr
}

// The bits of every attr must fit into seen.
const _ = uint32(1) << attrEnd

// once records that the attribute has arrived, and refuses a second value: readers disagree
// about which of two values counts.
func (b *builder) once(a attr, name string) error {
	if a == attrExtension {
		if _, ok := b.event.Extensions[name]; ok {
			return wrong(name, "appears twice")
		}
		return nil
	}
	if b.seen&(1<<a) != 0 {
		return wrong(attrNames[a], "appears twice")
	}
	b.seen |= 1 << a
	return nil
}

// add stores an attribute and refuses a second value for it.
func (b *builder) add(name, value string) error {
	a := lookup(name)
	if err := b.once(a, name); err != nil {
		return err
	}
	return b.set(a, name, value)
}

// set stores the canonical string form of an attribute. For an attribute with a field, an empty
// value means that the attribute is not set.
func (b *builder) set(a attr, name, value string) error {
	if a == attrExtension {
		if err := checkExtensionName(name); err != nil {
			return err
		}
		if b.event.Extensions == nil {
			b.event.Extensions = make(map[string]string)
		}
		b.event.Extensions[name] = value
		return nil
	}
	if field := b.event.text(a); field != nil {
		*field = value
		return nil
	}
	switch a {
	case attrSpecVersion:
		if value != specVersion {
			return wrong("specversion", "%q is not supported, only %s is", clip(value), specVersion)
		}
	case attrTime:
		return b.setTime(value)
	case attrSequence:
		return b.setSequence(value)
	}
	return nil
}

func (b *builder) setTime(value string) error {
	if value == "" {
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return wrong("time", "%q is not an RFC 3339 timestamp", clip(value))
	}
	b.event.Time = t.UTC()
	return nil
}

func (b *builder) setSequence(value string) error {
	if value == "" {
		return nil
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return wrong("sequence", "%q is not a whole number from 0 to 2^64-1", clip(value))
	}
	b.event.Sequence = n
	return nil
}

// finish applies the rules that depend on several attributes and returns a valid event. parsed
// means that the data was JSON text inside a document already.
func (b *builder) finish(parsed bool) (Event, error) {
	if b.seen&(1<<attrSpecVersion) == 0 {
		return Event{}, wrong("specversion", "is missing")
	}
	e := &b.event
	if len(e.Data) == 0 {
		e.Data, parsed = nil, true
	} else if e.DataContentType == "" {
		// No content type is set. JSON is the format's default; bytes that are not JSON are, as
		// in HTTP, an octet stream.
		e.DataContentType = jsonType
		if !parsed && checkJSON(e.Data) != nil {
			e.DataContentType = octetStream
		}
		parsed = true
	}
	if err := e.checkAttributes(); err != nil {
		return Event{}, err
	}
	if !parsed {
		if err := e.checkData(); err != nil {
			return Event{}, err
		}
	}
	return b.event, nil
}
