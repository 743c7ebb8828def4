package queuebench

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
)

// person waits in line.
type person struct {
	id     string // 16 bytes
	ticket string // nothing for the plain room
	order  int64
}

// names are new ids in no order: ids in the order of arrival would be appended to
// sorted sets, which flatters those.
type names struct{ given uint64 }

func (n *names) next(count int) []string {
	ids := make([]string, count)
	for i := range ids {
		n.given++
		ids[i] = name(n.given)
	}
	return ids
}

// name is the id of a number: odd factors keep all of them apart.
func name(n uint64) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, n*0x9E3779B97F4A7C15))
}

// shuffled is the people in a random order, with ids and tickets in memory in that
// order: a server has just read those of its next caller, while those of a random
// person of a million would be cache misses.
func shuffled(people []person, draw *rand.Rand) []person {
	var b strings.Builder
	size := 0
	for _, p := range people {
		size += len(p.id) + len(p.ticket)
	}
	b.Grow(size) // later writes do not move it
	next := func(s string) string {
		b.WriteString(s)
		return b.String()[b.Len()-len(s):]
	}
	order := draw.Perm(len(people))
	drawn := make([]person, len(people))
	for i, at := range order {
		p := people[at]
		drawn[i] = person{id: next(p.id), ticket: next(p.ticket), order: p.order}
	}
	return drawn
}

// split draws so many of the people, and returns the others, both in order.
func split(people []person, count int, draw *rand.Rand) (drawn, others []person) {
	for i, p := range people {
		if draw.IntN(len(people)-i) < count-len(drawn) {
			drawn = append(drawn, p)
		} else {
			others = append(others, p)
		}
	}
	return drawn, others
}

// chunk is how many people a call of a fill carries.
const chunk = 500

func chunks[T any](all []T, fn func(some []T) error) error {
	for len(all) > 0 {
		n := min(len(all), chunk)
		if err := fn(all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}
