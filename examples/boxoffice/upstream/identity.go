package upstream

import (
	"net/http"
	"strconv"
	"time"
)

// The headers of a call that identify its caller. All may be missing.
const (
	// HeaderPriority is "high" or "low"; calls are counted by it.
	HeaderPriority = "X-Priority"
	// HeaderInstance names the caller's process, in up to 64 letters, digits,
	// '-', '_', '.' and ':'.
	HeaderInstance = "X-Instance"
	// HeaderSentAt is the time at which the caller sent, in nanoseconds of
	// boottime.Now.
	HeaderSentAt = "X-Sent-At"
)

// class is a priority as the log stores it.
type class uint8

const (
	classNone class = iota
	classHigh
	classLow
	classCount
)

var classNames = [classCount]string{"none", "high", "low"}

func (c class) String() string { return classNames[c] }

func classOf(name string) class {
	switch name {
	case "high":
		return classHigh
	case "low":
		return classLow
	}
	return classNone
}

// identity is the caller of a call. Missing or malformed values are zero: a real
// service would not refuse a call for them.
type identity struct {
	class    class
	instance string
	sent     time.Duration
}

func identityOf(h http.Header) identity {
	id := identity{class: classOf(h.Get(HeaderPriority))}
	if name := h.Get(HeaderInstance); validInstance(name) {
		id.instance = name
	}
	if n, err := strconv.ParseInt(h.Get(HeaderSentAt), 10, 64); err == nil && n > 0 {
		id.sent = time.Duration(n)
	}
	return id
}

func validInstance(name string) bool {
	if len(name) > 64 {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == ':':
		default:
			return false
		}
	}
	return true
}
