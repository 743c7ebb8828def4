package queuehttp

import (
	"net/url"
	"strings"
)

const (
	maxNext     = 2048
	maxEscaping = 3 // times that a path may be escaped
)

// SafeNext says whether a target that came from outside, such as ?next=, is a path
// of this site, and returns it if so. It refuses all texts that a browser, a proxy
// or a router that unescapes once more might read as another site: //host, /\host,
// schemes, control characters, spaces, backslashes, doubled slashes and steps of
// dots, also when they are escaped. Other scripts than ASCII have to be escaped, as
// browsers do.
func SafeNext(next string) (string, bool) {
	if len(next) > maxNext || !strings.HasPrefix(next, "/") {
		return "", false
	}
	for i := range len(next) {
		if c := next[i]; c <= ' ' || c >= 0x7f || c == '\\' {
			return "", false
		}
	}
	if _, err := url.Parse(next); err != nil {
		return "", false
	}
	path := next
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	for range maxEscaping + 1 {
		if !plain(path) {
			return "", false
		}
		once, err := url.PathUnescape(path)
		if err != nil {
			return "", false
		}
		if once == path {
			return next, true
		}
		path = once
	}
	return "", false
}

// plain says whether a path means the same to every program.
func plain(path string) bool {
	if strings.Contains(path, "//") || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return false
	}
	for step := range strings.SplitSeq(path, "/") {
		if step == "." || step == ".." {
			return false
		}
	}
	return true
}
