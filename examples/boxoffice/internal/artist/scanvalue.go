package artist

import "errors"

// value takes one value.
func (s *scan) value(depth int) error {
	c, err := s.token()
	if err != nil {
		return err
	}
	switch {
	case depth > maxDepth:
		return errors.New("the document is nested too deeply")
	case c == '{':
		return s.object(depth)
	case c == '[':
		return s.array(depth)
	case c == '"':
		return s.text()
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return unexpected(c)
}

func (s *scan) object(depth int) error {
	return s.members('{', '}', func() error {
		if c, err := s.token(); err != nil || c != '"' {
			return errors.Join(err, errors.New("a member has no name"))
		}
		if err := s.text(); err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		return s.value(depth + 1)
	})
}

func (s *scan) array(depth int) error {
	return s.members('[', ']', func() error { return s.value(depth + 1) })
}

// members reads open, members by each, with commas between them, and end.
func (s *scan) members(open, end byte, each func() error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	c, err := s.token()
	if err != nil {
		return err
	}
	if c == end {
		s.pos++
		return nil
	}
	for {
		if err := each(); err != nil {
			return err
		}
		c, err := s.token()
		if err != nil {
			return err
		}
		s.pos++
		switch c {
		case ',':
		case end:
			return nil
		default:
			return unexpected(c)
		}
	}
}

// text takes a string.
func (s *scan) text() error {
	s.pos++ // the quote
	for {
		for s.pos < s.end {
			c := s.buf[s.pos]
			if c == '"' {
				s.pos++
				return nil
			}
			if c == '\\' || c < ' ' {
				break
			}
			s.pos++
		}
		c, err := s.peek()
		switch {
		case err != nil:
			return err
		case c < ' ':
			return unexpected(c)
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		}
	}
}

func (s *scan) escape() error {
	s.pos++ // the backslash
	c, err := s.peek()
	if err != nil {
		return err
	}
	s.pos++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			c, err := s.peek()
			if err != nil {
				return err
			}
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return unexpected(c)
			}
			s.pos++
		}
		return nil
	}
	return unexpected(c)
}

// number reads a number. It never ends a document here, so peek need not distinguish
// the end from a failure.
func (s *scan) number() error {
	if c, err := s.peek(); err != nil {
		return err
	} else if c == '-' {
		s.pos++
	}
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c == '0' {
		s.pos++
	} else if err := s.digits(); err != nil {
		return err
	}
	if c, err = s.peek(); err != nil {
		return err
	}
	if c == '.' {
		s.pos++
		if err := s.digits(); err != nil {
			return err
		}
		if c, err = s.peek(); err != nil {
			return err
		}
	}
	if c != 'e' && c != 'E' {
		return nil
	}
	s.pos++
	if c, err = s.peek(); err != nil {
		return err
	}
	if c == '+' || c == '-' {
		s.pos++
	}
	return s.digits()
}

// digits reads one digit or more.
func (s *scan) digits() error {
	for n := 0; ; n++ {
		for s.pos < s.end && '0' <= s.buf[s.pos] && s.buf[s.pos] <= '9' {
			s.pos++
			n++
		}
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c < '0' || c > '9' {
			if n == 0 {
				return unexpected(c)
			}
			return nil
		}
		s.pos++
	}
}

func (s *scan) word(w string) error {
	for i := range len(w) {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c != w[i] {
			return unexpected(c)
		}
		s.pos++
	}
	return nil
}
