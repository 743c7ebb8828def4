package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth is the nesting limit of JSON: encoding/json's own limit, so that accepted text can
// also be unmarshaled.
const maxDepth = 10_000

// scanner checks JSON text without building values. An event needs the bytes of each member
// once, and its data is passed on unchanged; decoding into a Go value and encoding it again
// would do the work three times. The scanner accepts exactly the text that encoding/json.Valid
// accepts.
type scanner struct {
	buf []byte
	pos int
}

// checkJSON reports why data is not one JSON value in UTF-8.
func checkJSON(data []byte) error {
	s := scanner{buf: data}
	if _, err := s.value(); err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return err
	}
	if !utf8.Valid(data) {
		return errNotUTF8
	}
	return nil
}

var errNotUTF8 = errors.New("not UTF-8")

// value returns the bytes of the next value, without white space around it.
func (s *scanner) value() ([]byte, error) {
	s.space()
	from := s.pos
	if err := s.skip(0); err != nil {
		return nil, err
	}
	return s.buf[from:s.pos:s.pos], nil
}

// open consumes the brace that starts an object.
func (s *scanner) open() error { s.space(); return s.expect('{') }

// more moves to the next member of an open object and returns its quoted name, or false after
// the closing brace.
func (s *scanner) more(first bool) (name []byte, ok bool, err error) {
	s.space()
	if s.peek() == '}' {
		s.pos++
		return nil, false, nil
	}
	if !first {
		if err := s.expect(','); err != nil {
			return nil, false, err
		}
		s.space()
	}
	from := s.pos
	if err := s.str(); err != nil {
		return nil, false, err
	}
	name = s.buf[from:s.pos]
	s.space()
	return name, true, s.expect(':')
}

// end returns an error unless only white space follows.
func (s *scanner) end() error {
	s.space()
	if s.pos < len(s.buf) {
		return s.unexpected("the end")
	}
	return nil
}

func (s *scanner) skip(depth int) error {
	switch c := s.peek(); c {
	case '"':
		return s.str()
	case '{', '[':
		if depth == maxDepth {
			return fmt.Errorf("JSON nests deeper than %d at byte %d", maxDepth, s.pos)
		}
		if c == '{' {
			return s.skipObject(depth + 1)
		}
		return s.skipArray(depth + 1)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		if c == '-' || isDigit(c) {
			return s.number()
		}
		return s.unexpected("a value")
	}
}

func (s *scanner) skipObject(depth int) error {
	s.pos++
	for first := true; ; first = false {
		_, ok, err := s.more(first)
		if err != nil || !ok {
			return err
		}
		s.space()
		if err := s.skip(depth); err != nil {
			return err
		}
	}
}

func (s *scanner) skipArray(depth int) error {
	s.pos++
	s.space()
	if s.peek() == ']' {
		s.pos++
		return nil
	}
	for {
		s.space()
		if err := s.skip(depth); err != nil {
			return err
		}
		s.space()
		if s.peek() == ']' {
			s.pos++
			return nil
		}
		if err := s.expect(','); err != nil {
			return err
		}
	}
}

func (s *scanner) str() error {
	if err := s.expect('"'); err != nil {
		return err
	}
	buf, i := s.buf, s.pos
	for ; i < len(buf); i++ {
		switch c := buf[i]; {
		case c == '"':
			s.pos = i + 1
			return nil
		case c < ' ':
			s.pos = i
			return s.unexpected("a character of a string")
		case c == '\\':
			n := escapeLen(buf[i:])
			if n == 0 {
				s.pos = i
				return s.unexpected("an escape sequence")
			}
			i += n - 1
		}
	}
	s.pos = i
	return s.unexpected("the closing quote of a string")
}

// escapeLen returns the length of the escape sequence that b starts with, or 0.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !isHex(c) {
				return 0
			}
		}
		return 6
	}
	return 0
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.peek() == '.' {
		s.pos++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		return s.digits()
	}
	return nil
}

func (s *scanner) digits() error {
	if !isDigit(s.peek()) {
		return s.unexpected("a digit")
	}
	for isDigit(s.peek()) {
		s.pos++
	}
	return nil
}

func (s *scanner) word(w string) error {
	if len(s.buf)-s.pos < len(w) || string(s.buf[s.pos:s.pos+len(w)]) != w {
		return s.unexpected(w)
	}
	s.pos += len(w)
	return nil
}

func (s *scanner) space() {
	for s.pos < len(s.buf) {
		switch s.buf[s.pos] {
		case ' ', '\n', '\r', '\t':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end: no JSON token starts with 0.
func (s *scanner) peek() byte {
	if s.pos < len(s.buf) {
		return s.buf[s.pos]
	}
	return 0
}

func (s *scanner) expect(c byte) error {
	if s.peek() != c {
		return s.unexpected(string(c))
	}
	s.pos++
	return nil
}

func (s *scanner) unexpected(wanted string) error {
	if s.pos >= len(s.buf) {
		return fmt.Errorf("JSON ends at byte %d, expected %s", s.pos, wanted)
	}
	return fmt.Errorf("invalid JSON at byte %d: %q, expected %s", s.pos, s.buf[s.pos], wanted)
}

// unquote returns the text of a JSON string that the scanner has checked. The result shares
// raw's bytes when nothing is escaped.
func unquote(raw []byte) ([]byte, error) {
	inner := raw[1 : len(raw)-1 : len(raw)-1]
	for _, c := range inner {
		if c == '\\' {
			// Unmarshal would silently replace invalid bytes.
			if !utf8.Valid(raw) {
				return nil, errNotUTF8
			}
			var s string
			if err := json.Unmarshal(raw, &s); err != nil {
				return nil, err
			}
			return []byte(s), nil
		}
	}
	return inner, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
