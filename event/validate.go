package event

import (
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/millrace-go/millrace/fault"
)

// Validate returns an error for the first attribute that CloudEvents 1.0 or Millrace does not
// allow. The error is permanent (see [fault.Permanent]) and names the attribute. Every event that
// is encoded or decoded is validated; call Validate to check an event earlier.
//
//	id, source, type   not empty; source is a URI reference
//	subject            not blank when it is set
//	time               years 0 to 9999, which RFC 3339 can write
//	datacontenttype    a media type
//	dataschema         an absolute URI
//	priority           HIGH, LOW or nothing
//	every attribute    UTF-8 without control characters
//	an extension       named with lower-case letters and digits, and not like
//	                   an attribute that has a field
//	data               JSON, when datacontenttype says so
func (e Event) Validate() error {
	if err := e.check(); err != nil {
		return fault.MarkPermanent(fmt.Errorf("event: %w", err))
	}
	return nil
}

func (e *Event) check() error {
	if err := e.checkAttributes(); err != nil {
		return err
	}
	return e.checkData()
}

func (e *Event) checkAttributes() error {
	for _, a := range [...]attr{attrID, attrSource, attrType} {
		if blank(*e.text(a)) {
			return wrong(attrNames[a], "must not be empty")
		}
	}
	for a := attrID; a < attrEnd; a++ {
		if v := e.text(a); v != nil && *v != "" {
			if err := checkText(*v); err != nil {
				return &attributeError{attrNames[a], err}
			}
		}
	}
	if e.AggregateID != "" && blank(e.AggregateID) {
		return wrong("subject", "must not be blank")
	}
	if !isURIReference(e.Source) {
		return wrong("source", "%q is not a URI reference", clip(e.Source))
	}
	if !e.Time.IsZero() {
		if year := e.Time.UTC().Year(); year < 0 || year > 9999 {
			return wrong("time", "year %d is outside of RFC 3339's 0 to 9999", year)
		}
	}
	if t := e.DataContentType; t != "" && t != jsonType {
		if _, _, err := mime.ParseMediaType(t); err != nil {
			return wrong("datacontenttype", "%q is not a media type", clip(t))
		}
	}
	if s := e.DataSchema; s != "" {
		if u, err := url.Parse(s); err != nil || !u.IsAbs() {
			return wrong("dataschema", "%q is not an absolute URI", clip(s))
		}
	}
	switch e.Priority {
	case "", High, Low:
	default:
		return wrong("priority", "%q is neither %s nor %s", clip(string(e.Priority)), High, Low)
	}
	return e.checkExtensions()
}

func (e *Event) checkExtensions() error {
	var first error
	var at string // the extension of the first error
	for name, value := range e.Extensions {
		err := checkExtensionName(name)
		if err == nil {
			if bad := checkText(value); bad != nil {
				err = &attributeError{clip(name), bad}
			}
		}
		// The order of a map is random; the same event must always give the same error.
		if err != nil && (first == nil || name < at) {
			first, at = err, name
		}
	}
	return first
}

func (e *Event) checkData() error {
	if len(e.Data) == 0 || !isJSON(e.DataContentType) {
		return nil
	}
	if err := checkJSON(e.Data); err != nil {
		return wrong("data", "is not JSON, which datacontenttype %q asks for: %w", e.contentType(), err)
	}
	return nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// checkText applies the rules for the String type of CloudEvents, which also keep line breaks
// out of headers.
func checkText(s string) error {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c == 0x7f:
			return fmt.Errorf("control character %U at byte %d", rune(c), i)
		case c >= utf8.RuneSelf:
			return checkUnicode(s, i)
		}
	}
	return nil
}

func checkUnicode(s string, from int) error {
	for i := from; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return fmt.Errorf("not UTF-8 at byte %d", i)
		case r < ' ' || 0x7f <= r && r <= 0x9f:
			return fmt.Errorf("control character %U at byte %d", r, i)
		case r&0xfffe == 0xfffe || 0xfdd0 <= r && r <= 0xfdef:
			return fmt.Errorf("%U at byte %d is not a character", r, i)
		}
		i += size
	}
	return nil
}

// isURIReference accepts the same text as net/url, except for empty references, "//" and "#",
// which readers turn into an empty source. Most sources are plain names and paths, which are
// accepted without parsing.
func isURIReference(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '-', c == '.', c == '_', c == '~', c == '/' && i > 0:
		default:
			u, err := url.Parse(s)
			return err == nil && *u != (url.URL{})
		}
	}
	return true
}

func checkExtensionName(name string) error {
	if name == "" {
		return &attributeError{`""`, errors.New("an extension needs a name")}
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return wrong(name, "an extension's name has lower-case letters and digits only")
		}
	}
	if name == "data" {
		return wrong(name, "is the data, not an extension")
	}
	if lookup(name) != attrExtension {
		return wrong(name, "has a field of its own; set that instead of an extension")
	}
	return nil
}
