package artist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	scanBuffer = 16 << 10
	maxDepth   = 1000 // of arrays and objects in each other
)

// errLarge is returned for a document that exceeds its bound.
var errLarge = errors.New("the document is too large")

// scan reads JSON as it arrives, checks it, and holds one buffer of it. Values to be
// stored are copied to keep on the way; encoding/json would hold the whole of a value
// before it could be thrown away.
type scan struct {
	src      io.Reader
	left     int64 // bytes that may still be read
	buf      []byte
	pos, end int
	keep     *bytes.Buffer // nil while skipping
	from     int           // the rest of buf is to be kept
}

func newScan(src io.Reader, limit int64) *scan {
	return &scan{src: src, left: limit, buf: make([]byte, scanBuffer)}
}

// fill reads more. It is called when all bytes were scanned.
func (s *scan) fill() error {
	s.flush()
	s.pos, s.end, s.from = 0, 0, 0
	for range 100 {
		n, err := s.src.Read(s.buf)
		if s.left -= int64(n); s.left < 0 {
			return errLarge
		}
		if n > 0 {
			s.end = n
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

func (s *scan) flush() {
	if s.keep != nil {
		s.keep.Write(s.buf[s.from:s.pos])
		s.from = s.pos
	}
}

// into starts to copy the following bytes to keep.
func (s *scan) into(keep *bytes.Buffer) { s.keep, s.from = keep, s.pos }

// stop ends that.
func (s *scan) stop() {
	s.flush()
	s.keep = nil
}

// peek returns the next byte without taking it.
func (s *scan) peek() (byte, error) {
	if s.pos == s.end {
		if err := s.fill(); err != nil {
			return 0, ended(err)
		}
	}
	return s.buf[s.pos], nil
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// token returns the next byte that is no space, without taking it.
func (s *scan) token() (byte, error) {
	for {
		if s.pos < s.end && s.buf[s.pos] > ' ' {
			return s.buf[s.pos], nil
		}
		c, err := s.peek()
		if err != nil {
			return 0, err
		}
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, nil
		}
		s.pos++
	}
}

// expect takes c.
func (s *scan) expect(c byte) error {
	got, err := s.token()
	if err != nil {
		return err
	}
	if got != c {
		return unexpected(got)
	}
	s.pos++
	return nil
}

func unexpected(c byte) error { return fmt.Errorf("unexpected %q", c) }

// rest makes sure that only space follows.
func (s *scan) rest() error {
	for {
		if s.pos == s.end {
			if err := s.fill(); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
		if c := s.buf[s.pos]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return fmt.Errorf("%w after the document", unexpected(c))
		}
		s.pos++
	}
}
