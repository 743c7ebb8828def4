package queue

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// snapshot is the line of an event at a moment. It never changes, so that all
// goroutines may read it; a later one shares the blocks that are the same.
type snapshot struct {
	state   State
	version uint64
	at      time.Duration // on the room's clock: when the store was asked
	blocks  []block       // in order of their numbers, each with a bit
}

// block is a Block with the number of orders that wait before it.
type block struct {
	number int64
	before int
	bits   *[words]uint64 // never written to
	heard  *heard         // the same in later snapshots
}

const words = driver.BlockSize / 64

// find counts the orders waiting before an order; found is nil unless it waits too.
func (s *snapshot) find(order int64) (ahead int, found *block) {
	b := s.block(order)
	if b == nil {
		return 0, nil
	}
	at := order % driver.BlockSize
	word, bit := at/64, uint64(1)<<(at%64)
	if b.bits[word]&bit == 0 {
		return 0, nil
	}
	ahead = b.before + bits.OnesCount64(b.bits[word]&(bit-1))
	for _, w := range b.bits[:word] {
		ahead += bits.OnesCount64(w)
	}
	return ahead, b
}

// block finds the block of an order. Most lines have no gaps between their blocks,
// so the block usually stands where it would without any.
func (s *snapshot) block(order int64) *block {
	if order < 0 || len(s.blocks) == 0 {
		return nil
	}
	number := order / driver.BlockSize
	guess := number - s.blocks[0].number
	if guess >= 0 && guess < int64(len(s.blocks)) && s.blocks[guess].number == number {
		return &s.blocks[guess]
	}
	i, ok := slices.BinarySearchFunc(s.blocks, number, func(b block, number int64) int { return cmp.Compare(b.number, number) })
	if !ok {
		return nil
	}
	return &s.blocks[i]
}

// with is the snapshot after a view: a new one.
func (s *snapshot) with(v driver.View, at time.Duration) *snapshot {
	next := &snapshot{state: v.State, version: v.Version, at: at}
	var old []block
	if s != nil && !v.Full && s.state.Epoch == v.Epoch {
		old = s.blocks
	}
	next.blocks = make([]block, 0, len(old)+len(v.Blocks))
	for i := range v.Blocks {
		changed := &v.Blocks[i]
		for len(old) > 0 && old[0].number < changed.Number {
			next.blocks, old = append(next.blocks, old[0]), old[1:]
		}
		b := block{number: changed.Number}
		if len(old) > 0 && old[0].number == changed.Number {
			b.heard, old = old[0].heard, old[1:]
		} else {
			b.heard = &heard{}
		}
		if changed.Bits == [words]uint64{} {
			continue
		}
		// A copy: a pointer into the view would keep all of it.
		copied := changed.Bits
		b.bits = &copied
		next.blocks = append(next.blocks, b)
	}
	next.blocks = append(next.blocks, old...)
	next.count()
	return next
}

// top is the highest waiting order, 0 when there is none.
func (s *snapshot) top() int64 {
	if len(s.blocks) == 0 {
		return 0
	}
	last := s.blocks[len(s.blocks)-1]
	for i := words - 1; i >= 0; i-- {
		if w := last.bits[i]; w != 0 {
			return last.number*driver.BlockSize + int64(i*64+bits.Len64(w)-1)
		}
	}
	return 0
}

// count sets the number of waiting orders before each block.
func (s *snapshot) count() {
	before := 0
	for i := range s.blocks {
		b := &s.blocks[i]
		b.before = before
		for _, w := range b.bits {
			before += bits.OnesCount64(w)
		}
	}
}
