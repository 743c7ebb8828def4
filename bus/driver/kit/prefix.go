package kit

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
)

// Tracker tracks the messages that were handed over, in the order of their partition. P is the
// type of a position. The zero Tracker is empty; it is not safe for concurrent use.
type Tracker[P any] struct {
	first int64 // sequence number of slots[0]
	slots []slot[P]
	last  P // the last position of the prefix
	moved bool
}

type slot[P any] struct {
	position P
	done     bool
}

// Add adds the next message and returns its sequence number.
func (t *Tracker[P]) Add(p P) int64 {
	t.slots = append(t.slots, slot[P]{position: p})
	return t.first + int64(len(t.slots)) - 1
}

// Done marks a message done, and reports whether the prefix has grown. It may be called
// repeatedly.
func (t *Tracker[P]) Done(seq int64) bool {
	i := seq - t.first
	if i < 0 || i >= int64(len(t.slots)) {
		return false // within the prefix
	}
	t.slots[i].done = true
	n := 0
	for n < len(t.slots) && t.slots[n].done {
		n++
	}
	if n == 0 {
		return false
	}
	t.last, t.moved = t.slots[n-1].position, true
	t.first += int64(n)
	// Copied down when the rest is small, or the array would keep growing at its end.
	if rest := t.slots[n:]; n >= len(rest) {
		kept := copy(t.slots, rest)
		clear(t.slots[kept:])
		t.slots = t.slots[:kept]
	} else {
		clear(t.slots[:n])
		t.slots = rest
	}
	return true
}

// Prefix returns the last message of the prefix without a gap; ok reports whether there is one.
func (t *Tracker[P]) Prefix() (last P, ok bool) { return t.last, t.moved }

// Span is the number of messages behind the prefix, done or not.
func (t *Tracker[P]) Span() int { return len(t.slots) }

// Gap returns the first message that is not done; ok reports whether there is one.
func (t *Tracker[P]) Gap() (p P, ok bool) {
	if len(t.slots) == 0 {
		return p, false
	}
	return t.slots[0].position, true
}

// Behind returns the messages that are done behind the gap, in order.
func (t *Tracker[P]) Behind() (all []P) {
	for _, s := range t.slots {
		if s.done {
			all = append(all, s.position)
		}
	}
	return all
}

// EncodeDone writes numbers as runs, in up to most bytes; if they do not fit, the greatest are
// left out. [DecodeDone] reads them with the same base, which is below all of them.
func EncodeDone(base int64, numbers []int64, most int) string {
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	most = base64.RawStdEncoding.DecodedLen(most)
	var out []byte
	at := base
	for len(numbers) > 0 {
		from, n := numbers[0], 1
		for n < len(numbers) && numbers[n] == from+int64(n) {
			n++
		}
		next := binary.AppendUvarint(binary.AppendUvarint(out, uint64(from-at)), uint64(n))
		if len(next) > most {
			break
		}
		out, at, numbers = next, from+int64(n), numbers[n:]
	}
	return base64.RawStdEncoding.EncodeToString(out)
}

var errEncoding = errors.New("kit: not a list of numbers as EncodeDone writes it")

// maxDecoded bounds the result of DecodeDone, since another program may have written the text.
const maxDecoded = 1 << 20

// DecodeDone reads the result of [EncodeDone].
func DecodeDone(base int64, text string) (map[int64]struct{}, error) {
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, errEncoding
	}
	numbers := map[int64]struct{}{}
	at := base
	for len(data) > 0 {
		gap, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, errEncoding
		}
		data = data[n:]
		run, n := binary.Uvarint(data)
		if n <= 0 || run > uint64(maxDecoded-len(numbers)) || gap > uint64(1<<63-1) || at+int64(gap) < at {
			return nil, errEncoding
		}
		data = data[n:]
		for at += int64(gap); run > 0; run-- {
			numbers[at] = struct{}{}
			at++
		}
	}
	return numbers, nil
}
