package queue

import (
	"sync/atomic"

	"github.com/millrace-go/millrace/queue/driver"
)

// heard is the set of a block's orders with a beat in a minute of the store's
// clock, so that the store gets one beat a minute however often they poll.
type heard struct{ minute atomic.Pointer[heardMinute] }

type heardMinute struct {
	number int64
	bits   [words]atomic.Uint64
}

// first says whether a poll is the first of an order in a minute. One beat too many
// at the turn of the minute does no harm.
func (h *heard) first(minute, order int64) bool {
	m := h.minute.Load()
	if m == nil || m.number != minute {
		fresh := &heardMinute{number: minute}
		if h.minute.CompareAndSwap(m, fresh) {
			m = fresh
		} else {
			m = h.minute.Load()
		}
	}
	at := order % driver.BlockSize
	word, bit := &m.bits[at/64], uint64(1)<<(at%64)
	return word.Load()&bit == 0 && word.Or(bit)&bit == 0
}

// forget removes an order from the set.
func (h *heard) forget(order int64) {
	if m := h.minute.Load(); m != nil {
		at := order % driver.BlockSize
		m.bits[at/64].And(^(uint64(1) << (at % 64)))
	}
}
