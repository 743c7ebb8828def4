package redissse

import (
	"strings"

	"github.com/millrace-go/millrace/sse/driver"
)

// Clocked makes the cap's scripts take the time, in µs, from the arguments instead of
// the server. Nothing else in them changes.
func Clocked(made driver.Cap, now func() int64) {
	c := made.(*connections)
	const ask = "call('TIME')"
	c.scripts = newScripts(func(text string) string {
		if n := strings.Count(text, ask); n > 1 || n == 0 && text != closeText {
			panic("a script does not ask for the time once")
		}
		text = strings.Replace(text, "redis."+ask, ask, 1)
		return strings.Replace(text, ask, "{math.floor(ARGV[#ARGV] / 1000000), ARGV[#ARGV] % 1000000}", 1)
	})
	c.extra = func() []any { return []any{now()} }
}

// Channels are those of a broker, in the order of addresses, and the one for victims.
func Channels(b driver.Broker) []string { return b.(*broker).channels }
