package gate

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// errPath refuses a path that two programs may read as two paths.
var errPath = errors.New("gate: the path can be read in more than one way")

// readings are the ways in which programs behind the gate may read a path. A
// request passes as an asset only if it is one in all of them.
type readings struct {
	paths  [][]string
	params bool // it has ;parameters, which some programs drop and some keep
}

// readPath reads an escaped path. It refuses escaped slashes, backslashes, control
// characters, text that is escaped twice, what is no UTF-8, and steps of dots that
// programs understand in different ways.
func readPath(escaped string) (readings, error) {
	path, ok := unescape(escaped)
	if !ok || !strings.HasPrefix(path, "/") || !utf8.ValidString(path) || escape.MatchString(path) {
		return readings{}, errPath
	}
	raw := segments(path)
	clean := make([]string, 0, len(raw))
	trimmed := make([]string, 0, len(raw))
	var ups, empties bool
	for _, s := range raw {
		switch {
		case s == ".":
		case s == "..":
			ups = true
			if len(clean) == 0 {
				return readings{}, errPath
			}
			clean, trimmed = clean[:len(clean)-1], trimmed[:len(trimmed)-1]
		case s == "":
			empties = true
		default:
			name, _, _ := strings.Cut(s, ";")
			bare := strings.TrimRight(name, ". ") // Windows drops them
			if bare == "" {
				return readings{}, errPath // "...", ". .", "..;x"
			}
			clean = append(clean, s)
			trimmed = append(trimmed, strings.TrimRight(s, ". "))
		}
		// An empty segment counts for one program and not for another.
		if ups && empties {
			return readings{}, errPath
		}
	}
	return readings{paths: [][]string{raw, clean, trimmed}, params: strings.Contains(path, ";")}, nil
}

// waits says whether a path needs a place in any of its readings.
func (r readings) waits(wait, pass []pattern) bool {
	return r.params || slices.ContainsFunc(r.paths, func(path []string) bool { return matchAny(wait, path) && !matchAny(pass, path) })
}

// unescape decodes a path. It refuses characters that end a path or a part of it for
// a program that looks at them before or after decoding.
func unescape(s string) (string, bool) {
	path, err := url.PathUnescape(s)
	ends := func(c rune) bool { return c < ' ' || c == 0x7f || c == '\\' || c == '?' || c == '#' }
	return path, err == nil && !strings.Contains(strings.ToLower(s), "%2f") && !strings.ContainsFunc(path, ends)
}

// escape is an escaped byte.
var escape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
