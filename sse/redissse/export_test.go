package redissse

import "strings"

// Clocked makes the cap's scripts take the time, in µs, from the arguments instead of
// the server. Nothing else in them changes.
func Clocked(c *Cap, now func() int64) {
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
func Channels(b *Broker) []string { return b.channels }
