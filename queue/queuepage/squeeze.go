package queuepage

import "strings"

// squeeze drops the spaces and the ends of lines that mean nothing to JavaScript,
// outside of the texts and patterns of a program without comments.
func squeeze(program string) string {
	s := squeezer{source: program}
	for s.at < len(s.source) {
		s.step()
	}
	return s.out.String()
}

// squeezer goes through a program.
type squeezer struct {
	source string
	at     int
	out    strings.Builder
	last   byte // that was written
}

// tightens are the characters that need no space beside them. Of + and - two may
// stand beside each other, which together are another operator.
const tightens = "=<>&|?:,;(){}[]*!\n"

func (s *squeezer) write(c byte) {
	s.out.WriteByte(c)
	s.last = c
}

// take copies n bytes.
func (s *squeezer) take(n int) {
	for range n {
		s.write(s.source[s.at])
		s.at++
	}
}

func (s *squeezer) step() {
	c := s.source[s.at]
	switch {
	case c == '\'' || c == '"':
		s.text(c)
	case c == '`':
		s.template()
	case c == '/' && strings.IndexByte("=(,:[!&|?{};\n", s.last) >= 0:
		s.pattern()
	case c == ' ':
		s.at++
		next := byte('\n')
		if s.at < len(s.source) {
			next = s.source[s.at]
		}
		if strings.IndexByte(tightens, s.last) < 0 && strings.IndexByte(tightens, next) < 0 {
			s.write(' ')
		}
	case c == '\n' && strings.IndexByte(";{,(\n", s.last) >= 0:
		s.at++
	default:
		s.take(1)
	}
}

// text copies a text up to its closing quote.
func (s *squeezer) text(quote byte) {
	for s.take(1); s.at < len(s.source); s.take(1) {
		switch s.source[s.at] {
		case '\\':
			s.take(1)
		case quote:
			s.take(1)
			return
		}
	}
}

// pattern copies a regular expression, in whose classes a slash is no end.
func (s *squeezer) pattern() {
	class := false
	for s.take(1); s.at < len(s.source); s.take(1) {
		switch c := s.source[s.at]; {
		case c == '\\':
			s.take(1)
		case c == '[' || c == ']':
			class = c == '['
		case c == '/' && !class:
			s.take(1)
			return
		}
	}
}

// template copies a template, and squeezes the programs in it.
func (s *squeezer) template() {
	for s.take(1); s.at < len(s.source); {
		switch {
		case s.source[s.at] == '\\':
			s.take(2)
		case s.source[s.at] == '`':
			s.take(1)
			return
		case strings.HasPrefix(s.source[s.at:], "${"):
			s.take(2)
			for depth := 1; s.at < len(s.source) && depth > 0; s.step() {
				switch s.source[s.at] {
				case '{':
					depth++
				case '}':
					depth--
				}
			}
		default:
			s.take(1)
		}
	}
}
