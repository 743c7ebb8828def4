package kafkabus

// prefix knows which offsets of a partition that were handed over are
// confirmed, and so from where the group would have to go on: behind the longest
// run without a gap. Offsets may have holes, of compaction and transactions.
type prefix struct {
	next  int64 // the offset to commit; meaningful once moved
	moved bool
	first int64 // sequence number of slots[0]
	slots []slot
}

type slot struct {
	offset    int64
	confirmed bool
}

// add takes the next offset in log order and returns its sequence number.
func (p *prefix) add(offset int64) int64 {
	p.slots = append(p.slots, slot{offset: offset})
	return p.first + int64(len(p.slots)) - 1
}

// confirm marks an offset done and reports whether the prefix has grown.
func (p *prefix) confirm(seq int64) bool {
	i := seq - p.first
	if i < 0 || i >= int64(len(p.slots)) {
		return false
	}
	p.slots[i].confirmed = true
	n := 0
	for n < len(p.slots) && p.slots[n].confirmed {
		p.next, p.moved = p.slots[n].offset+1, true
		n++
	}
	if n == 0 {
		return false
	}
	p.first += int64(n)
	// Copied down when there is little to copy, or the array would keep growing
	// at its end.
	if n >= len(p.slots)-n {
		p.slots = p.slots[:copy(p.slots, p.slots[n:])]
	} else {
		p.slots = p.slots[n:]
	}
	return true
}

// span is how many offsets lie between the prefix and the newest one.
func (p *prefix) span() int { return len(p.slots) }
