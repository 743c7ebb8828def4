package redisgate

import (
	"regexp"
	"time"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

var timeCall = regexp.MustCompile(`call\('TIME'\)`)

// Clocked makes the store's scripts take the time from an argument instead of the
// server. Nothing else in them changes.
func Clocked(of driver.Store, now func() time.Time) {
	s := of.(*store)
	s.scripts = newScripts(func(text string) string {
		if len(timeCall.FindAllString(text, -1)) != 1 {
			panic("a script does not ask for the time once")
		}
		return timeCall.ReplaceAllString(text, `{0, ARGV[#ARGV]}`)
	})
	s.extra = func() []any { return []any{now().UnixMicro()} }
}

// Key and Registry are those of a store.
func Key(s driver.Store, event string) string { return s.(*store).key(event) }
func Registry(s driver.Store) string          { return s.(*store).registry }
