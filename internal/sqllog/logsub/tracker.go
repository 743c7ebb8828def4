package logsub

import "github.com/millrace-go/millrace/internal/sqllog"

// tracker knows which delivered entries of a lane are confirmed, and so how far
// the cursor may move: over the longest prefix without a gap.
type tracker struct {
	prefix sqllog.Position // where the cursor may stand
	first  int64           // sequence number of slots[0]
	slots  []slot          // delivered, from the first unconfirmed one on
}

type slot struct {
	position  sqllog.Position
	confirmed bool
}

// add takes the next entry in log order and returns its sequence number.
func (t *tracker) add(p sqllog.Position) int64 {
	t.slots = append(t.slots, slot{position: p})
	return t.first + int64(len(t.slots)) - 1
}

// confirm marks an entry done, once or more often.
func (t *tracker) confirm(seq int64) {
	i := seq - t.first
	if i < 0 || i >= int64(len(t.slots)) {
		return // below the prefix: confirmed before
	}
	t.slots[i].confirmed = true
	n := 0
	for n < len(t.slots) && t.slots[n].confirmed {
		t.prefix = t.slots[n].position
		n++
	}
	if n == 0 {
		return
	}
	t.first += int64(n)
	// Copied down, or the array would keep growing at its end and hold
	// positions that nobody needs.
	rest := copy(t.slots, t.slots[n:])
	clear(t.slots[rest:])
	t.slots = t.slots[:rest]
}

// span is how many entries lie between the prefix and the newest one.
func (t *tracker) span() int { return len(t.slots) }
