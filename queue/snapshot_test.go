package queue

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/queue/driver"
)

// naive is a line as a set of orders, with the version of each block's last change.
// The tests compare a snapshot with it.
type naive struct {
	epoch   uint64
	version uint64
	orders  map[int64]bool
	blocks  map[int64]uint64
	floor   uint64
}

func (n *naive) set(order int64, waits bool) {
	if n.orders[order] == waits {
		return
	}
	n.version++
	n.blocks[order/driver.BlockSize] = n.version
	if waits {
		n.orders[order] = true
	} else {
		delete(n.orders, order)
	}
}

// empty removes all orders of a block.
func (n *naive) empty(block int64) {
	for order := range n.orders {
		if order/driver.BlockSize == block {
			n.set(order, false)
		}
	}
}

// view is a store's answer, with at most most blocks.
func (n *naive) view(epoch, version uint64, most int) driver.View {
	v := driver.View{State: State{Epoch: n.epoch, Waiting: len(n.orders)}, Version: version}
	if epoch != n.epoch || version < n.floor {
		v.Full, v.Version, version = true, 0, 0
	}
	var changed []int64
	for number, at := range n.blocks {
		if at > version {
			changed = append(changed, number)
		}
	}
	slices.SortFunc(changed, func(a, b int64) int { return int(n.blocks[a]) - int(n.blocks[b]) })
	if v.More = len(changed) > most; v.More {
		changed = changed[:most]
	} else {
		v.Version = n.version
	}
	for _, number := range changed {
		if v.More {
			v.Version = n.blocks[number]
		}
		b := driver.Block{Number: number}
		for i := range int64(driver.BlockSize) {
			if n.orders[number*driver.BlockSize+i] {
				b.Bits[i/64] |= 1 << (i % 64)
			}
		}
		v.Blocks = append(v.Blocks, b)
	}
	slices.SortFunc(v.Blocks, func(a, b driver.Block) int { return int(a.Number - b.Number) })
	return v
}

// prune forgets the empty blocks. Those that are not empty have versions above the
// floor, so that pages from it on come to an end.
func (n *naive) prune() {
	n.floor = n.version
	for number := range n.blocks {
		delete(n.blocks, number)
	}
	for order := range n.orders {
		n.version++
		n.blocks[order/driver.BlockSize] = n.version
	}
}

// ranks compares a snapshot with the line.
func (n *naive) ranks(t *rapid.T, s *snapshot, probes []int64) {
	sorted := make([]int64, 0, len(n.orders))
	for order := range n.orders {
		sorted = append(sorted, order)
	}
	slices.Sort(sorted)
	for want, order := range sorted {
		if got, b := s.find(order); b == nil || got != want {
			t.Fatalf("order %d: %d ahead, found %v; want %d", order, got, b != nil, want)
		}
	}
	for _, order := range probes {
		if _, b := s.find(order); (b != nil) != n.orders[order] {
			t.Fatalf("order %d: found %v, waits %v", order, b != nil, n.orders[order])
		}
	}
}

func TestSnapshotIsTheLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &naive{epoch: 1, orders: map[int64]bool{}, blocks: map[int64]uint64{}}
		var s *snapshot
		// Few blocks with gaps between them, and both ends of each.
		order := rapid.Custom(func(t *rapid.T) int64 {
			block := rapid.SampledFrom([]int64{0, 1, 2, 3, 900, 901, 1 << 40, 1<<40 + 1}).Draw(t, "block")
			return block*driver.BlockSize + rapid.SampledFrom([]int64{0, 1, 62, 63, 64, 511, 1022, 1023}).Draw(t, "at")
		})
		var kept *snapshot // an older one, which must not change
		var keptOrders map[int64]bool
		for range rapid.IntRange(1, 12).Draw(t, "refreshes") {
			for range rapid.IntRange(0, 30).Draw(t, "changes") {
				at := order.Draw(t, "order")
				if rapid.IntRange(0, 9).Draw(t, "all") == 0 {
					n.empty(at / driver.BlockSize)
				}
				n.set(at, rapid.IntRange(0, 2).Draw(t, "waits") > 0)
			}
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0: // lost, with another line after it
				n.epoch++
				n.orders, n.blocks, n.floor = map[int64]bool{}, map[int64]uint64{}, 0
				n.set(order.Draw(t, "order"), true)
			case 1: // versions pruned, with the empty blocks they were of
				n.prune()
			}
			for more := true; more; {
				var epoch, version uint64
				if s != nil {
					epoch, version = s.state.Epoch, s.version
				}
				v := n.view(epoch, version, 3)
				s, more = s.with(v, 0), v.More
				if more && rapid.Bool().Draw(t, "meanwhile") {
					n.set(order.Draw(t, "order"), true)
				}
			}
			n.ranks(t, s, []int64{-1, order.Draw(t, "probe"), 1 << 53})
			if kept != nil {
				(&naive{orders: keptOrders}).ranks(t, kept, []int64{order.Draw(t, "probe")})
			}
			if rapid.Bool().Draw(t, "keep") {
				kept, keptOrders = s, map[int64]bool{}
				for o := range n.orders {
					keptOrders[o] = true
				}
			}
		}
	})
}

func TestUnchangedBlocksAreShared(t *testing.T) {
	s := (*snapshot)(nil).with(fullView(1, 10), 0)
	changed := fullView(2, 1)
	changed.Full = false
	changed.Blocks[0].Number = s.blocks[4].number
	changed.Blocks[0].Bits[3] = 0
	next := s.with(changed, time.Second)
	for i := range next.blocks {
		if same := next.blocks[i].bits == s.blocks[i].bits; same != (i != 4) || next.blocks[i].heard != s.blocks[i].heard {
			t.Errorf("block %d: shared %v, heard kept %v", i, same, next.blocks[i].heard == s.blocks[i].heard)
		}
	}
	if next.blocks[5].before != s.blocks[5].before-64 {
		t.Errorf("%d before the block after it, was %d", next.blocks[5].before, s.blocks[5].before)
	}
}

// fullView is a line of n full blocks.
func fullView(version uint64, n int) driver.View {
	v := driver.View{State: State{Epoch: 1, Waiting: n * driver.BlockSize}, Version: version, Full: true, Blocks: make([]driver.Block, n)}
	for i := range v.Blocks {
		v.Blocks[i].Number = int64(i) + 1_660_000_000_000
		for w := range v.Blocks[i].Bits {
			v.Blocks[i].Bits[w] = ^uint64(0)
		}
	}
	return v
}

const millionBlocks = 977

// BenchmarkRank is a rank in a line of a million.
func BenchmarkRank(b *testing.B) {
	s := (*snapshot)(nil).with(fullView(1, millionBlocks), 0)
	first := s.blocks[0].number * driver.BlockSize
	orders := make([]int64, 4096)
	for i := range orders {
		orders[i] = first + rand.Int64N(millionBlocks*driver.BlockSize)
	}
	i := 0
	for b.Loop() {
		if _, found := s.find(orders[i%len(orders)]); found == nil {
			b.Fatal("not found")
		}
		i++
	}
}

// BenchmarkRefresh is a refresh at a million waiting: as many blocks have changed
// as a second of 100 admissions and 1,000 joins touches.
func BenchmarkRefresh(b *testing.B) {
	s := (*snapshot)(nil).with(fullView(1, millionBlocks), 0)
	changed := fullView(2, 3)
	changed.Full = false
	changed.Blocks[1].Number += millionBlocks - 3
	changed.Blocks[2].Number += millionBlocks - 3
	b.ReportAllocs()
	for b.Loop() {
		s = s.with(changed, 0)
	}
}

// BenchmarkBuild is a snapshot of a million from nothing.
func BenchmarkBuild(b *testing.B) {
	v := fullView(1, millionBlocks)
	b.ReportAllocs()
	for b.Loop() {
		(*snapshot)(nil).with(v, 0)
	}
}

// The memory of a process for each waiting user stays below a byte.
func TestMemoryForEach(t *testing.T) {
	v := fullView(1, millionBlocks)
	const times = 10
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	for range times {
		s := (*snapshot)(nil).with(v, 0)
		for i := range s.blocks {
			s.blocks[i].heard.first(1, s.blocks[i].number*driver.BlockSize)
		}
	}
	runtime.ReadMemStats(&end)
	size := (end.TotalAlloc - start.TotalAlloc) / times
	// Twice, since the next snapshot is built beside it.
	if each := 2 * float64(size) / (millionBlocks * driver.BlockSize); each >= 1 {
		t.Errorf("%.2f bytes for each who waits", each)
	}
}
