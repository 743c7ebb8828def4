package memqueue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/millrace-go/millrace/queue/internal/roomcalls"
)

// A file begins with magic and the version of its format. Frames follow, each with
// its length and a checksum of all data up to its end; an empty frame is the last.
// Nothing is read of a frame that is damaged.
const (
	magic    = "millrace rooms "
	format   = 5
	laneless = 2 // without kept places and lanes, the oldest that is read
	plain    = 3 // without figures
	flagless = 4 // without the switch of the challenge
	maxFrame = 1 << 16
	maxValue = 1 << 10 // bytes of one value: no value is in two frames
)

var checksum = crc32.MakeTable(crc32.Castagnoli)

// coder writes values, or reads them into the same variables: so the format is
// described once. After an error it does nothing.
type coder struct {
	to    io.Writer // nil while reading
	from  io.Reader
	frame []byte // not written yet, or not read yet
	sum   uint32
	err   error

	format byte  // of the file that is read
	at     int64 // the moment to which times are relative: of saving, or of restoring
}

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = roomcalls.Bad(format, args...)
	}
}

// begin writes or reads the first bytes of the file.
func (c *coder) begin() {
	head := append([]byte(magic), format)
	if c.to != nil {
		_, c.err = c.to.Write(head)
		c.format = format
		return
	}
	got := make([]byte, len(head))
	switch _, err := io.ReadFull(c.from, got); {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		c.err = err
	case string(got[:len(magic)]) != magic:
		c.fail("this is no saved state of waiting rooms; name another file, or remove this one to begin with empty rooms")
	case got[len(magic)] < laneless || got[len(magic)] > format:
		c.fail("the saved state has format %d, and this release reads up to format %d; run the release that wrote it, or remove it to begin with empty rooms", got[len(magic)], format)
	default:
		c.format = got[len(magic)]
	}
}

// end writes what is left and the last frame, or checks that nothing is left.
func (c *coder) end() {
	if c.to != nil {
		c.flush()
		c.flush()
		return
	}
	if c.err == nil && len(c.frame) == 0 && c.next() {
		c.frame = []byte{0}
	}
	if len(c.frame) > 0 {
		c.fail("the saved state goes on after its end; %s", remedy)
	}
}

const remedy = "restore the file from a copy, or remove it to begin with empty rooms"

// flush writes a frame.
func (c *coder) flush() {
	if c.err != nil {
		return
	}
	c.sum = crc32.Update(c.sum, checksum, c.frame)
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:4], uint32(len(c.frame))) //nolint:gosec // at most maxFrame
	binary.LittleEndian.PutUint32(head[4:], c.sum)
	if _, c.err = c.to.Write(head[:]); c.err == nil {
		_, c.err = c.to.Write(c.frame)
	}
	c.frame = c.frame[:0]
}

// next reads a frame, and says whether it is not the last.
func (c *coder) next() bool {
	var head [8]byte
	if _, err := io.ReadFull(c.from, head[:]); err != nil {
		c.cut(err)
		return false
	}
	length := binary.LittleEndian.Uint32(head[:4])
	if length > maxFrame {
		c.fail("the saved state is damaged; %s", remedy)
		return false
	}
	c.frame = make([]byte, length)
	if _, err := io.ReadFull(c.from, c.frame); err != nil {
		c.cut(err)
		return false
	}
	if c.sum = crc32.Update(c.sum, checksum, c.frame); c.sum != binary.LittleEndian.Uint32(head[4:]) {
		c.fail("the saved state is damaged; %s", remedy)
		return false
	}
	return length > 0
}

func (c *coder) cut(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		c.fail("the saved state is cut short; %s", remedy)
		return
	}
	if c.err == nil {
		c.err = fmt.Errorf("read: %w", err)
	}
}

// ready says whether a value can be written or read.
func (c *coder) ready() bool {
	switch {
	case c.err != nil:
	case c.to != nil && len(c.frame) > maxFrame-maxValue:
		c.flush()
	case c.to == nil && len(c.frame) == 0 && !c.next():
		c.fail("the saved state ends early; %s", remedy)
	}
	return c.err == nil
}

// take is the next n bytes; nil with an error.
func (c *coder) take(n int) []byte {
	if n > len(c.frame) {
		c.fail("a value of the saved state is cut short; %s", remedy)
		return nil
	}
	b := c.frame[:n]
	c.frame = c.frame[n:]
	return b
}
