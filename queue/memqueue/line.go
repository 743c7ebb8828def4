package memqueue

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// line holds the waiting users, in blocks of orders. Its cost is in the blocks: a
// million users are a thousand blocks.
type line struct {
	ordered []entry          // blocks with waiting users, by number
	blocks  map[int64]*block // these, and empty ones whose change a Look may still ask for
	waiting int

	version uint64  // of the last change
	floor   uint64  // of the last change that was forgotten
	log     []stamp // by version; those that are not their block's last one are void
}

type entry struct {
	number int64
	count  int
	block  *block
}

type block struct {
	number  int64
	version uint64
	bits    [driver.BlockSize / 64]uint64
	members *[driver.BlockSize]member // nil while empty
}

type member struct {
	user  string
	alive int64
}

type stamp struct {
	version uint64
	block   *block
}

func newLine(version uint64) line {
	return line{blocks: map[int64]*block{}, version: version, floor: version}
}

// place splits an order into the block's number and the bit in it.
func place(order int64) (number int64, bit int) {
	return order / driver.BlockSize, int(order % driver.BlockSize)
}

// find returns where the block is in ordered, or would be.
func (l *line) find(number int64) (int, bool) {
	if n := len(l.ordered); n > 0 && l.ordered[n-1].number <= number {
		if l.ordered[n-1].number == number {
			return n - 1, true
		}
		return n, false
	}
	return slices.BinarySearchFunc(l.ordered, number, func(e entry, number int64) int { return cmp.Compare(e.number, number) })
}

// at returns the member that waits at order, nil when there is none.
func (l *line) at(order int64) *member {
	number, bit := place(order)
	b := l.blocks[number]
	if b == nil || b.bits[bit/64]&(1<<(bit%64)) == 0 {
		return nil
	}
	return &b.members[bit]
}

func (l *line) add(order int64, user string, now int64) {
	number, bit := place(order)
	i, ok := l.find(number)
	if !ok {
		b := l.blocks[number]
		if b == nil {
			b = &block{number: number}
			l.blocks[number] = b
		}
		b.members = new([driver.BlockSize]member)
		l.ordered = slices.Insert(l.ordered, i, entry{number: number, block: b})
	}
	b := l.ordered[i].block
	b.bits[bit/64] |= 1 << (bit % 64)
	b.members[bit] = member{user, now}
	l.ordered[i].count++
	l.waiting++
	l.stamp(b)
}

// remove takes out the user waiting at order.
func (l *line) remove(order int64) {
	number, bit := place(order)
	i, _ := l.find(number)
	b := l.ordered[i].block
	b.bits[bit/64] &^= 1 << (bit % 64)
	b.members[bit] = member{}
	l.ordered[i].count--
	l.waiting--
	l.stamp(b)
	if l.ordered[i].count > 0 {
		return
	}
	b.members = nil
	if i == 0 {
		l.ordered[0] = entry{}
		l.ordered = l.ordered[1:] // mostly the head empties, and then nothing is moved
		return
	}
	l.ordered = slices.Delete(l.ordered, i, i+1)
}

// first returns the lowest waiting order; the line is not empty.
func (l *line) first() int64 {
	b := l.ordered[0].block
	for i, word := range b.bits {
		if word != 0 {
			return b.number*driver.BlockSize + int64(i*64+bits.TrailingZeros64(word))
		}
	}
	panic("memqueue: a block without anybody is in the line")
}

// ahead counts the waiting users before order.
func (l *line) ahead(order int64) int {
	number, bit := place(order)
	i, ok := l.find(number)
	n := 0
	if i < len(l.ordered)/2 {
		for _, e := range l.ordered[:i] {
			n += e.count
		}
	} else {
		n = l.waiting
		for _, e := range l.ordered[i:] {
			n -= e.count
		}
	}
	if !ok {
		return n
	}
	b := l.ordered[i].block
	for _, word := range b.bits[:bit/64] {
		n += bits.OnesCount64(word)
	}
	return n + bits.OnesCount64(b.bits[bit/64]&(1<<(bit%64)-1))
}

func (l *line) stamp(b *block) {
	l.version++
	b.version = l.version
	l.log = append(l.log, stamp{l.version, b})
	if len(l.log) > 2*len(l.blocks)+driver.MaxBlocks {
		l.log = slices.DeleteFunc(l.log, func(s stamp) bool { return s.version != s.block.version })
	}
}

// since returns the blocks changed after version, oldest change first, at most
// MaxBlocks, and the version up to which the answer is complete.
func (l *line) since(version uint64, empty bool) (found []driver.Block, upto uint64, more bool) {
	i, _ := slices.BinarySearchFunc(l.log, version+1, func(s stamp, v uint64) int { return cmp.Compare(s.version, v) })
	upto = version
	for _, s := range l.log[i:] {
		if s.version != s.block.version || !empty && s.block.members == nil {
			continue
		}
		if len(found) == driver.MaxBlocks {
			return found, upto, true
		}
		found = append(found, driver.Block{Number: s.block.number, Bits: s.block.bits})
		upto = s.version
	}
	return found, l.version, false
}

// forget drops empty blocks that changed last at version or before, up to the first
// that is not empty. All remaining blocks have a version above the floor, so that a
// caller that reads page by page is above it after the first page.
func (l *line) forget(version uint64) {
	n := 0
	for _, s := range l.log {
		if s.version > version {
			break
		}
		if s.version == s.block.version {
			if s.block.members != nil {
				break
			}
			delete(l.blocks, s.block.number)
			l.floor = s.version
		}
		n++
	}
	l.log = slices.Delete(l.log, 0, n)
}
