package memqueue

import (
	"math/bits"

	"github.com/millrace-go/millrace/queue/driver"
)

// sweepBlocks is the number of blocks in one call: less than a millisecond.
const sweepBlocks = 16

// sweep removes users without signs of life. If the room is empty at the beginning
// of a sweep, as at the last one, the event is no longer listed. The room stays:
// its counts are those of the epoch.
func (m *room) sweep(from, now int64, r driver.Rules) driver.Swept {
	if from == 0 {
		if m.swept != 0 && now >= m.swept && now-m.swept < r.SweepEvery.Microseconds() {
			return driver.Swept{State: m.state(now, r), Done: true}
		}
		m.line.forget(m.told)
		m.swept, m.told = now, m.line.version
		empty := m.line.waiting+len(m.turns.users)+len(m.returners.ordered)+len(m.inside.users) == 0
		m.listed = m.listed && !(empty && m.idle)
		m.idle = empty
	}
	i, _ := m.line.find(from)
	removed := 0
	for range sweepBlocks {
		if i >= len(m.line.ordered) || removed == driver.MaxChunk {
			break
		}
		e := m.line.ordered[i]
		removed += m.sweepBlock(e.block, now, r, driver.MaxChunk-removed)
		from = e.number
		if e.block.members != nil {
			i++ // an empty one has left its place to the next
			from++
		}
	}
	swept := driver.Swept{Removed: removed, Done: i >= len(m.line.ordered)}
	if removed == driver.MaxChunk {
		from-- // it may have more of them
		swept.Done = m.line.waiting == 0
	}
	others, more := m.sweepReturners(now-r.Seen.Microseconds(), driver.MaxChunk-removed)
	swept.Removed, swept.Done = removed+others, swept.Done && !more
	if !swept.Done {
		swept.Next = max(1, from)
	}
	swept.State = m.state(now, r)
	return swept
}

// sweepBlock removes at most most users without a sign of life for Rules.Seen, and keeps
// their orders.
func (m *room) sweepBlock(b *block, now int64, r driver.Rules, most int) (removed int) {
	since := now - r.Seen.Microseconds()
	for w, word := range b.bits {
		for ; word != 0; word &= word - 1 {
			bit := w*64 + bits.TrailingZeros64(word)
			who := b.members[bit]
			if who.alive >= since {
				continue
			}
			if removed == most {
				return removed
			}
			order := b.number*driver.BlockSize + int64(bit)
			m.unline(who.user, order)
			m.keep(order, r, now)
			m.removed++
			removed++
		}
	}
	return removed
}
