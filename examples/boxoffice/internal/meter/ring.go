package meter

import "sync/atomic"

// slots is how many seconds late the write of a process may be.
const slots = 16

// most fits in the 16 bits that a count has; calls beyond it are dropped.
const most = 1<<16 - 1

// ring has a word for each of the last seconds: its time in 32 bits, the count of
// high in 16 and the one of low in 16. With one word a count can never be added to a
// later second in the same slot.
type ring [slots]atomic.Uint64

func pack(unix int64, high, low uint64) uint64 { return uint64(uint32(unix))<<32 | high<<16 | low }

func unpack(word uint64) Second {
	return Second{Unix: int64(word >> 32), High: int64(word >> 16 & most), Low: int64(word & most)}
}

// add counts calls, and returns the number of lost ones.
func (r *ring) add(unix int64, high bool, n uint64) (lost int64) {
	slot := &r[uint64(unix)%slots]
	for {
		old := slot.Load()
		s := unpack(old)
		if s.Unix != unix&(1<<32-1) {
			lost = s.High + s.Low // of a second that was not taken in time
			s = Second{Unix: unix}
		} else {
			lost = 0
		}
		h, l := uint64(s.High), uint64(s.Low)
		count := &l
		if high {
			count = &h
		}
		fits := min(n, most-*count)
		*count += fits
		if slot.CompareAndSwap(old, pack(unix, h, l)) {
			return lost + int64(n-fits)
		}
	}
}

// take empties the ring.
func (r *ring) take() (counts []Second) {
	for i := range r {
		if s := unpack(r[i].Swap(0)); s.High+s.Low > 0 {
			counts = append(counts, s)
		}
	}
	return counts
}
