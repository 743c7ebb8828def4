package queuetest

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

// snapshot is a process's copy of the line, by Look.
type snapshot struct {
	epoch, version uint64
	blocks         map[int64]driver.Block
	looks, full    int // of the last refresh
}

// refresh looks until there is no more, and returns the last state.
func (s *snapshot) refresh(p *player) driver.State {
	s.looks, s.full = 0, 0
	for {
		v, err := p.store.Look(p.ctx, p.event, p.r, s.epoch, s.version)
		steps.Named(err, "look")
		p.sane("look", v.State)
		steps.Within("look", func() { s.apply(v) })
		if !v.More {
			return v.State
		}
		if s.looks > 100 {
			steps.Fail("look: after %d answers there is more: version %d", s.looks, v.Version)
		}
	}
}

func (s *snapshot) apply(v driver.View) {
	fresh := s.epoch == v.Epoch && s.version != 0
	switch {
	case len(v.Blocks) > driver.MaxBlocks:
		steps.Fail("%d blocks in one answer", len(v.Blocks))
	case !fresh && !v.Full:
		steps.Fail("version %d of epoch %d is answered with changes of epoch %d", s.version, s.epoch, v.Epoch)
	case fresh && !v.Full && v.Version < s.version:
		steps.Fail("version %d is answered with version %d", s.version, v.Version)
	case v.More && len(v.Blocks) == 0:
		steps.Fail("no blocks, and yet more of them: version %d", v.Version)
	case !slices.IsSortedFunc(v.Blocks, func(a, b driver.Block) int { return int(a.Number - b.Number) }):
		steps.Fail("the blocks are not in the order of their numbers")
	}
	s.looks++
	if v.Full {
		s.full++
		s.blocks = map[int64]driver.Block{}
	}
	for _, b := range v.Blocks {
		if b.Bits == [driver.BlockSize / 64]uint64{} {
			delete(s.blocks, b.Number)
		} else {
			s.blocks[b.Number] = b
		}
	}
	s.epoch, s.version = v.Epoch, v.Version
}

// orders lists the waiting orders.
func (s *snapshot) orders() []int64 {
	var all []int64
	for _, number := range slices.Sorted(maps.Keys(s.blocks)) {
		for i, word := range s.blocks[number].Bits {
			for ; word != 0; word &= word - 1 {
				all = append(all, number*driver.BlockSize+int64(64*i+bits.TrailingZeros64(word)))
			}
		}
	}
	return all
}

// shows refreshes, and expects exactly these orders.
func (s *snapshot) shows(p *player, want []int64) {
	state := s.refresh(p)
	if got := s.orders(); !slices.Equal(got, want) {
		steps.Fail("look: %s", difference(got, want))
	}
	if state.Waiting-state.Entitled-state.Laned-state.Returning != len(want) {
		steps.Fail("look: the room is %+v; want %d in line without a turn", state, len(want))
	}
}

func difference(got, want []int64) string {
	extra := slices.DeleteFunc(slices.Clone(got), func(o int64) bool { _, ok := slices.BinarySearch(want, o); return ok })
	missing := slices.DeleteFunc(slices.Clone(want), func(o int64) bool { _, ok := slices.BinarySearch(got, o); return ok })
	return fmt.Sprintf("%d wait, want %d; too many: %v; missing: %v", len(got), len(want), extra[:min(3, len(extra))], missing[:min(3, len(missing))])
}
