package upstream

import "time"

// chunkCalls is how many calls the log stores, drops and copies at once.
const chunkCalls = 4096

// maxInstances bounds how many instances have names of their own.
const maxInstances = 1000

// record is one call of the log. sent is 0 when the caller did not state it.
type record struct {
	arrival, sent time.Duration
	instance      uint16
	status        uint16 // 0 until it is answered
	class         class
}

// callLog keeps the newest calls in the order of their arrival. A call's number is
// unique: numbers continue after a reset. The gate's lock guards it.
type callLog struct {
	limit  int
	chunks []*[chunkCalls]record
	first  uint64 // the number of the first record of the first chunk
	next   uint64 // the number of the next call
	floor  uint64 // calls below it were reset away
	lost   int64  // calls dropped to make room

	names   []string // of instances; the first is for none, the second for too many
	numbers map[string]uint16
}

func (l *callLog) clear() {
	l.chunks, l.first, l.floor, l.lost = nil, l.next, l.next, 0
	l.names, l.numbers = []string{"", "others"}, map[string]uint16{"": 0, "others": 1}
}

// add makes the record of a call and returns its number.
func (l *callLog) add(arrival time.Duration) uint64 {
	seq := l.next
	l.next++
	i := seq - l.first
	if int(i/chunkCalls) == len(l.chunks) {
		l.chunks = append(l.chunks, new([chunkCalls]record))
	}
	l.chunks[i/chunkCalls][i%chunkCalls].arrival = arrival
	// One chunk more than the limit, so that at least limit calls are kept.
	if (len(l.chunks)-1)*chunkCalls >= l.limit+chunkCalls {
		l.first += chunkCalls
		l.lost += chunkCalls
		l.chunks[0] = nil
		l.chunks = l.chunks[1:]
	}
	return seq
}

// at returns a call's record, or nil when the log has dropped it.
func (l *callLog) at(seq uint64) *record {
	if seq < l.first || seq >= l.next {
		return nil
	}
	i := seq - l.first
	return &l.chunks[i/chunkCalls][i%chunkCalls]
}

// intern returns the number of an instance's name.
func (l *callLog) intern(name string) uint16 {
	n, ok := l.numbers[name]
	switch {
	case ok:
		return n
	case len(l.names) >= maxInstances:
		return 1
	}
	n = uint16(len(l.names))
	l.names = append(l.names, name)
	l.numbers[name] = n
	return n
}

// read visits the logged calls that arrived after a time, oldest first, with the
// names of their instances. It holds the lock for one chunk at a time, so that
// arrivals are not delayed; calls that arrive meanwhile are left out.
func (g *gate) read(after time.Duration, visit func(records []record, names []string) error) error {
	g.mu.Lock()
	seq, end, epoch := g.log.first, g.log.next, g.log.floor
	g.mu.Unlock()
	buf := make([]record, 0, chunkCalls)
	for seq < end {
		g.mu.Lock()
		if g.log.floor != epoch { // a reset: the calls are gone
			g.mu.Unlock()
			return nil
		}
		seq = max(seq, g.log.first)
		stop := min(end, seq+chunkCalls)
		buf = buf[:0]
		for ; seq < stop; seq++ {
			if r := g.log.at(seq); r.arrival > after {
				buf = append(buf, *r)
			}
		}
		names := g.log.names
		g.mu.Unlock()
		if len(buf) == 0 {
			continue
		}
		if err := visit(buf, names); err != nil {
			return err
		}
	}
	return nil
}
