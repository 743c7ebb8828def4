package redisqueue

import (
	"strconv"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// names of the keys that all scripts declare, in their order in room.lua.
var names = [...]string{
	"room", "threshold", "queue", "waiting", "versions", "slots", "used", "runs",
	"active", "active-seen", "reserved", "entry", "missed", "stays", "turns", "settings",
	"lanes", "laned", "returners", "returners-seen", "kept", "stock",
}

// minutesOf is the number of minutes of a liveness key: one, unless Rules.Seen is
// above an hour, and a sweep would have too many of them to look at.
func minutesOf(r driver.Rules) int64 {
	return int64((max(r.Seen, 1) + time.Hour - 1) / time.Hour)
}

// spanOf is the same in µs.
func spanOf(r driver.Rules) int64 { return minutesOf(r) * time.Minute.Microseconds() }

// keysOf are the keys of an event, which all have one slot of a Cluster.
func (s *store) keysOf(event string, r driver.Rules) []string { return s.keysSeen(event, r, 0, 0) }

// keysSeen are keysOf, and the liveness keys of n periods from the first on.
func (s *store) keysSeen(event string, r driver.Rules, first int64, n int) []string {
	tag := s.prefix + "{" + event + "}:"
	keys := make([]string, 0, len(names)+len(r.Lanes)+n)
	for _, name := range names {
		keys = append(keys, tag+name)
	}
	for _, lane := range r.Lanes {
		keys = append(keys, tag+"lane:"+lane.Name)
	}
	for i := range int64(n) {
		keys = append(keys, tag+"seen:"+strconv.FormatInt((first+i)*minutesOf(r), 10))
	}
	return keys
}
