package event

import (
	"bytes"
	"encoding/base64"
	"errors"
	"unicode/utf8"
)

// parse reads a structured JSON document in one pass. The event's data shares the document's
// bytes; no other field does.
func parse(doc []byte) (Event, error) {
	var (
		b            builder
		data, base64 []byte // as in the document
		name         string
	)
	s := scanner{buf: doc}
	if err := s.open(); err != nil {
		return Event{}, outside(name, err)
	}
	for first := true; ; first = false {
		quoted, ok, err := s.more(first)
		if err != nil {
			return Event{}, outside(name, err)
		}
		if !ok {
			break
		}
		a, err := memberName(quoted, &name)
		if err != nil {
			return Event{}, err
		}
		raw, err := s.value()
		if err != nil {
			return Event{}, &attributeError{clip(name), err}
		}
		switch {
		case a != attrExtension:
			err = b.setMember(a, name, raw)
		case name == "data":
			err = keep(&data, name, raw)
		case name == "data_base64":
			err = keep(&base64, name, raw)
		default:
			err = b.setMember(a, name, raw)
		}
		if err != nil {
			return Event{}, err
		}
	}
	if err := s.end(); err != nil {
		return Event{}, outside(name, err)
	}
	inline, err := b.setData(data, base64)
	if err != nil {
		return Event{}, err
	}
	return b.finish(inline)
}

// outside returns the error for a broken document; it names the attribute before the broken
// place, to help find it.
func outside(previous string, err error) error {
	if previous == "" {
		return &attributeError{"document", err}
	}
	return wrong(previous, "after it: %w", err)
}

// memberName finds the attribute of a quoted member name and sets name to it. Names are
// lower-case by the specification; the SDKs accept upper case too.
func memberName(quoted []byte, name *string) (attr, error) {
	inner := quoted[1 : len(quoted)-1]
	if a := lookup(string(inner)); a != attrExtension {
		*name = attrNames[a]
		return a, nil
	}
	text, err := unquote(quoted)
	if err != nil {
		return attrExtension, &attributeError{clip(string(inner)), err}
	}
	if *name = lower(string(text)); *name == "" {
		return attrExtension, checkExtensionName("")
	}
	return lookup(*name), nil
}

func keep(place *[]byte, name string, raw []byte) error {
	if *place != nil {
		return wrong(name, "appears twice")
	}
	*place = raw
	return nil
}

// setMember stores the attribute from its JSON value. A null means that the attribute is not
// set.
func (b *builder) setMember(a attr, name string, raw []byte) error {
	if err := b.once(a, name); err != nil {
		return err
	}
	switch c := raw[0]; {
	case c == '"':
		text, err := unquote(raw)
		if err != nil {
			return &attributeError{clip(name), err}
		}
		return b.set(a, name, intern(text))
	case c == 'n' && a == attrSpecVersion:
		return wrong(name, "is missing")
	case c == 'n':
		return nil
	case a.core():
		return wrong(name, "%s is not a string", clip(string(raw)))
	case c == '{' || c == '[':
		return wrong(name, "must be a string, a boolean or an integer")
	case c == 't' || c == 'f':
		return b.set(a, name, string(raw))
	default:
		if bytes.ContainsAny(raw, ".eE") {
			return wrong(name, "%s is not an integer", clip(string(raw)))
		}
		return b.set(a, name, string(bytes.TrimPrefix(raw, minusOfZero(raw))))
	}
}

// minusOfZero returns the sign of -0, which is not the canonical form of an integer.
func minusOfZero(raw []byte) []byte {
	if string(raw) == "-0" {
		return raw[:1]
	}
	return nil
}

// setData stores the data from the members data and data_base64, and reports whether it is JSON
// text that the scanner has checked. parse calls it at the end of the document, because
// datacontenttype may come last.
func (b *builder) setData(data, encoded []byte) (inline bool, err error) {
	if encoded != nil && encoded[0] != 'n' {
		if data != nil {
			return false, wrong("data_base64", "must not stand beside data")
		}
		return false, b.setBase64(encoded)
	}
	if data == nil {
		return false, nil
	}
	if !utf8.Valid(data) {
		return false, &attributeError{"data", errNotUTF8}
	}
	if isJSON(b.event.DataContentType) {
		b.event.Data = data
		return true, nil
	}
	switch data[0] {
	case 'n':
		return false, nil
	case '"':
		b.event.Data, err = unquote(data)
		if err != nil {
			return false, &attributeError{"data", err}
		}
		return false, nil
	}
	return false, wrong("data", "must be a string, because datacontenttype %q is not JSON", clip(b.event.DataContentType))
}

func (b *builder) setBase64(encoded []byte) error {
	if encoded[0] != '"' {
		return &attributeError{"data_base64", errors.New("must be a string")}
	}
	text, err := unquote(encoded)
	if err != nil {
		return &attributeError{"data_base64", err}
	}
	b.event.Data, err = base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return &attributeError{"data_base64", err}
	}
	return nil
}

// intern returns text as a string, without allocating for values that nearly every event has.
func intern(text []byte) string {
	switch string(text) {
	case specVersion:
		return specVersion
	case jsonType:
		return jsonType
	case "v1":
		return "v1"
	case string(High):
		return string(High)
	case string(Low):
		return string(Low)
	}
	return string(text)
}
