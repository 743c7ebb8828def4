package draw

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
)

// Size of a seed, a leaf and a root, in bytes.
const Size = sha256.Size

// Leaf stands for a person in what is published.
type Leaf [Size]byte

// LeafOf is the leaf of a person under the key of a room.
func LeafOf(key []byte, user string) (l Leaf) {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(user))
	mac.Sum(l[:0])
	return l
}

// Sort puts leaves in the order in which they are published.
func Sort(leaves []Leaf) {
	slices.SortFunc(leaves, func(a, b Leaf) int { return bytes.Compare(a[:], b[:]) })
}

// Root is the root of leaves that are in order.
func Root(leaves []Leaf) (root [Size]byte) {
	h := sha256.New()
	for i := range leaves {
		h.Write(leaves[i][:])
	}
	h.Sum(root[:0])
	return root
}

// Commitment is what is published of a seed at first.
func Commitment(seed []byte) [Size]byte { return sha256.Sum256(seed) }

// Order has the place of each leaf.
type Order struct {
	leaves []Leaf
	places []int // of the leaf with the same index
}

// NewOrder computes the order of leaves that are in order themselves.
func NewOrder(seed, beacon []byte, leaves []Leaf) *Order {
	root := Root(leaves)
	type ranked struct {
		hash  [Size]byte
		index int
	}
	all := make([]ranked, len(leaves))
	text := slices.Concat(seed, beacon, root[:], make([]byte, Size))
	for i := range leaves {
		copy(text[len(text)-Size:], leaves[i][:])
		all[i] = ranked{sha256.Sum256(text), i}
	}
	slices.SortFunc(all, func(a, b ranked) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	o := &Order{leaves: leaves, places: make([]int, len(leaves))}
	for place, r := range all {
		o.places[r.index] = place + 1
	}
	return o
}

// Len is the number of leaves.
func (o *Order) Len() int { return len(o.leaves) }

// Place is the place of a leaf, from 1; false if it is not among the leaves.
func (o *Order) Place(l Leaf) (int, bool) {
	i, found := slices.BinarySearchFunc(o.leaves, l, func(a, b Leaf) int { return bytes.Compare(a[:], b[:]) })
	if !found {
		return 0, false
	}
	return o.places[i], true
}
