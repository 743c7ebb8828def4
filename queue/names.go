package queue

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-go/millrace/queue/driver"
)

// checkEvent refuses ids that cannot be part of a store's key: braces would change
// the slot of a Redis Cluster.
func checkEvent(event string) error {
	plain := true // the common case costs no decoding
	for i := range len(event) {
		c := event[i]
		plain = plain && c > ' ' && c < 0x7f && c != '{' && c != '}'
	}
	switch {
	case event == "" || len(event) > driver.MaxEvent:
		return invalid("the event id has %d bytes; give 1 to %d", len(event), driver.MaxEvent)
	case plain:
		return nil
	case !utf8.ValidString(event):
		return invalid("the event id %.40q is not UTF-8", event)
	case strings.ContainsFunc(event, func(r rune) bool {
		return r == '{' || r == '}' || unicode.IsSpace(r) || unicode.IsControl(r)
	}):
		return invalid("the event id %.40q has braces, spaces or control characters; use letters, digits and signs", event)
	}
	return nil
}

func checkUser(user string) error {
	if user == "" || len(user) > driver.MaxUser {
		return invalid("the user id has %d bytes; give 1 to %d", len(user), driver.MaxUser)
	}
	return nil
}

// entryID names an admission: the epoch and the order by which it was made.
func entryID(epoch uint64, order int64) string {
	return strconv.FormatUint(epoch, 36) + "-" + strconv.FormatInt(order, 36)
}

// parseEntry reads the name of an admission, in the one form that entryID writes.
func parseEntry(id string) (epoch uint64, order int64, ok bool) {
	e, o, ok := strings.Cut(id, "-")
	if !ok {
		return 0, 0, false
	}
	epoch, err := strconv.ParseUint(e, 36, 64)
	if err != nil {
		return 0, 0, false
	}
	order, err = strconv.ParseInt(o, 36, 64)
	if err != nil || order <= 0 || entryID(epoch, order) != id {
		return 0, 0, false
	}
	return epoch, order, true
}
