package redisqueue

import (
	"strings"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// Clocked makes the store's scripts take the time, in µs, from the arguments
// instead of the server. Nothing else in them changes.
func Clocked(of driver.Store, now func() int64) {
	s := of.(*store)
	s.scripts = newScripts(func(text string) string {
		if strings.Count(text, "call('TIME')") != 1 {
			panic("a script does not ask for the time once")
		}
		return strings.Replace(text, "call('TIME')", "{0, ARGV[#ARGV]}", 1)
	})
	s.extra = func() []any { return []any{now()} }
}

// Hidden makes the store's scripts see a server that does not show its replication id.
func Hidden(of driver.Store) {
	s := of.(*store)
	s.scripts = newScripts(func(text string) string {
		return strings.Replace(text, "call('INFO', 'replication')", "'role:master'", 1)
	})
}

// Skew sets the store's estimate of the time of Redis off.
func Skew(s driver.Store, d time.Duration) { s.(*store).clock.ahead.Add(d.Microseconds()) }
