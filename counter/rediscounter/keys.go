package rediscounter

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// parts is the number of slots of a counter. All processes must use the same number.
const parts = 16

// partOf returns the part of a key.
func partOf(key string) int {
	h := fnv.New32a()
	h.Write([]byte(key)) //nolint:errcheck // never fails
	return int(h.Sum32() % parts)
}

// partOfBatch returns the part of a batch, with which its id begins.
func partOfBatch(id string) (int, bool) {
	number, _, ok := strings.Cut(id, "-")
	part, err := strconv.Atoi(number)
	return part, ok && err == nil && part >= 0 && part < parts
}

// place names the keys of one part of a counter.
type place struct {
	prefix, counter string
	part            int
}

func (p place) key(kind string) string {
	return fmt.Sprintf("%scount:%s:%s:{%s:%02d}", p.prefix, p.counter, kind, p.counter, p.part)
}
func (p place) keys() string            { return p.key("keys") }
func (p place) asides() string          { return p.key("asides") }
func (p place) delta(key string) string { return p.key("delta") + ":" + key }
func (p place) aside(id string) string  { return p.key("aside") + ":" + id }
