package memqueue

import (
	"encoding/binary"
	"iter"

	"github.com/millrace-go/millrace/queue/driver"
)

// reads says whether values are read, without an error until now.
func (c *coder) reads() bool { return c.to == nil && c.err == nil }

// list is the elements of all while they are written, or as many empty ones to read. Their
// number stands before them.
func list[T any](c *coder, all []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		n := int64(len(all))
		c.count(&n)
		for i := int64(0); i < n && c.err == nil; i++ {
			var one T
			if c.to != nil {
				one = all[i]
			}
			if !yield(one) {
				return
			}
		}
	}
}

// num is a number of -2^53 to 2^53.
func (c *coder) num(v *int64) {
	if !c.ready() {
		return
	}
	if c.to != nil {
		if *v < -maxOrder || *v > maxOrder {
			c.fail("%d is beyond 2^53, which no number of a room or time in µs is", *v)
			return
		}
		c.frame = binary.AppendVarint(c.frame, *v)
		return
	}
	got, n := binary.Varint(c.frame)
	if n <= 0 || got < -maxOrder || got > maxOrder {
		c.fail("a number of the saved state is out of range; %s", remedy)
		return
	}
	c.frame = c.frame[n:]
	*v = got
}

// order is that of a user, from 1.
func (c *coder) order(v *int64) {
	c.num(v)
	if c.reads() && *v < 1 {
		c.fail("an order of the saved state is %d, and may be 1 to 2^53; %s", *v, remedy)
	}
}

// maxCount is the highest count and age that is read: there is room to go on from it.
const maxCount = maxOrder / 2

// count is a number that is not negative.
func (c *coder) count(v *int64) {
	c.num(v)
	if c.to == nil && (*v < 0 || *v > maxCount) {
		c.fail("a count of the saved state is %d, and may be 0 to 2^52; %s", *v, remedy)
	}
}

// counts are such numbers.
func counts[T int | int64](c *coder, all ...*T) {
	for _, v := range all {
		n := int64(*v)
		c.count(&n)
		*v = T(n)
	}
}

// when is a time, kept relative to the moment of saving: the time between saving and
// restoring does not pass in the room, and neither does a change of the clock.
func (c *coder) when(v *int64) {
	age := c.at - *v
	c.num(&age)
	if c.to == nil {
		if age < -maxCount || age > maxCount {
			c.fail("an age in the saved state is out of range; %s", remedy)
			return
		}
		*v = c.at - age
	}
}

func (c *coder) flag(v *bool) {
	n := int64(0)
	if *v {
		n = 1
	}
	c.num(&n)
	*v = n != 0
}

// name is the name of a user or an event, of at most so many bytes.
func (c *coder) name(v *string, most int64) {
	n := int64(len(*v))
	c.count(&n)
	switch {
	case c.err != nil:
	case c.to != nil:
		// A name may be long, and its bytes may then be in several frames.
		for rest := *v; rest != "" && c.ready(); {
			part := rest[:min(len(rest), maxValue)]
			c.frame, rest = append(c.frame, part...), rest[len(part):]
		}
	case n == 0 || n > most:
		c.fail("a name of the saved state has %d bytes, and may have 1 to %d; %s", n, most, remedy)
	default:
		if n <= driver.MaxUser && c.ready() {
			*v = string(c.take(int(n)))
			return
		}
		var text []byte
		for int64(len(text)) < n && c.ready() {
			text = append(text, c.take(int(min(n-int64(len(text)), maxValue)))...)
		}
		*v = string(text)
	}
}

// words are bits.
func (c *coder) words(v []uint64) {
	if !c.ready() {
		return
	}
	if c.to != nil {
		for _, word := range v {
			c.frame = binary.LittleEndian.AppendUint64(c.frame, word)
		}
		return
	}
	if b := c.take(8 * len(v)); b != nil {
		for i := range v {
			v[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	}
}
