// Package draws computes the order of a draw from what is published of it: see package
// queue/draw, which verifies that, and package queue, which makes it.
package draws

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
)

// Size of a seed, a leaf and a root, in bytes.
const Size = sha256.Size

// LeafOf is the leaf of a person under the key of a room.
func LeafOf(key []byte, user string) (l [Size]byte) {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(user))
	mac.Sum(l[:0])
	return l
}

// Sort puts leaves in the order in which they are published.
func Sort[Leaf ~[Size]byte](leaves []Leaf) {
	slices.SortFunc(leaves, compare)
}

func compare[Leaf ~[Size]byte](a, b Leaf) int {
	x, y := [Size]byte(a), [Size]byte(b)
	return bytes.Compare(x[:], y[:])
}

// Root is the root of leaves that are in order.
func Root[Leaf ~[Size]byte](leaves []Leaf) (root [Size]byte) {
	h := sha256.New()
	for i := range leaves {
		leaf := [Size]byte(leaves[i])
		h.Write(leaf[:])
	}
	h.Sum(root[:0])
	return root
}

// Commitment is what is published of a seed at first.
func Commitment(seed []byte) [Size]byte { return sha256.Sum256(seed) }

// Order has the place of each leaf.
type Order[Leaf ~[Size]byte] struct {
	leaves []Leaf
	places []int // of the leaf with the same index
}

// NewOrder computes the order of leaves that are in order themselves.
func NewOrder[Leaf ~[Size]byte](seed, beacon []byte, leaves []Leaf) *Order[Leaf] {
	root := Root(leaves)
	type ranked struct {
		hash  [Size]byte
		index int
	}
	all := make([]ranked, len(leaves))
	text := slices.Concat(seed, beacon, root[:], make([]byte, Size))
	for i := range leaves {
		leaf := [Size]byte(leaves[i])
		copy(text[len(text)-Size:], leaf[:])
		all[i] = ranked{sha256.Sum256(text), i}
	}
	slices.SortFunc(all, func(a, b ranked) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	o := &Order[Leaf]{leaves: leaves, places: make([]int, len(leaves))}
	for place, r := range all {
		o.places[r.index] = place + 1
	}
	return o
}

// Place is the place of a leaf, from 1; false if it is not among the leaves.
func (o *Order[Leaf]) Place(l Leaf) (int, bool) {
	i, found := slices.BinarySearchFunc(o.leaves, l, compare)
	if !found {
		return 0, false
	}
	return o.places[i], true
}
