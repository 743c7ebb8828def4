package redisratelimit

import (
	"regexp"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

var (
	timeCall = regexp.MustCompile(`(redis\.)?call\('TIME'\)`)
	infoCall = regexp.MustCompile(`(redis\.)?call\('INFO', 'replication'\)`)
)

// Clocked makes the store's scripts take the time, in µs, and the server's id from
// the arguments instead of the server. Nothing else in them changes.
func Clocked(made driver.Store, moment func() (server string, now int64)) {
	s := made.(*store)
	clocked := func(text string) *redis.Script {
		if len(timeCall.FindAllString(text, -1)) != 1 || len(infoCall.FindAllString(text, -1)) != 1 {
			panic("a script does not ask for the time and the server's id once each")
		}
		text = timeCall.ReplaceAllString(text, `{0, ARGV[#ARGV]}`)
		text = infoCall.ReplaceAllString(text, `('master_replid:' .. ARGV[#ARGV - 1])`)
		return redis.NewScript(text)
	}
	for _, m := range []struct {
		scripts           *scripts
		acquire, giveBack string
	}{{&s.buckets, acquireText, returnText}, {&s.windows, acquireWindowText, returnWindowText}} {
		*m.scripts = scripts{clocked(m.acquire), clocked(m.giveBack)}
	}
	s.extra = func() []any {
		server, now := moment()
		return []any{server, now}
	}
}

// Keys returns the keys of a mode.
func Keys(made driver.Store, strict bool) []string {
	s := made.(*store)
	if strict {
		return s.keys.windows
	}
	return s.keys.buckets
}
