package memqueue

import (
	"cmp"
	"slices"

	"github.com/millrace-go/millrace/queue/driver"
)

// orders is a set of orders, in blocks.
type orders map[int64]*[driver.BlockSize / 64]uint64

// add puts an order in, and says whether it was not there.
func (of orders) add(order int64) bool {
	number, bit := place(order)
	b := of[number]
	if b == nil {
		b = new([driver.BlockSize / 64]uint64)
		of[number] = b
	}
	was := b[bit/64]&(1<<(bit%64)) != 0
	b[bit/64] |= 1 << (bit % 64)
	return !was
}

// remove takes an order out, and says whether it was there.
func (of orders) remove(order int64) bool {
	number, bit := place(order)
	b := of[number]
	if b == nil || b[bit/64]&(1<<(bit%64)) == 0 {
		return false
	}
	b[bit/64] &^= 1 << (bit % 64)
	return true
}

func (of orders) copied() orders {
	copies := make(orders, len(of))
	for number, bits := range of {
		copies[number] = new(*bits)
	}
	return copies
}

// find returns where the user with an order is in ordered, or would be.
func find(ordered []driver.Admitted, order int64) int {
	i, _ := slices.BinarySearchFunc(ordered, order, func(a driver.Admitted, order int64) int { return cmp.Compare(a.Order, order) })
	return i
}
