package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// pattern is a path whose segments may hold * for any characters; a segment ** is
// any number of segments. A slash at the end makes no difference.
type pattern []string

func parsePattern(text string) (pattern, error) {
	switch {
	case !strings.HasPrefix(text, "/"):
		return nil, errors.New("begin it with a slash, such as /static/** or /**/*.css")
	case strings.ContainsAny(text, `?#%;\`):
		return nil, errors.New(`write the path as people read it, without ? # % ; and \`)
	}
	p := pattern(segments(text))
	for _, s := range p {
		switch {
		case s == "" || s == "." || s == "..":
			return nil, errors.New("it has an empty segment or a segment of dots; leave it out")
		case s != "**" && strings.Contains(s, "**"):
			return nil, fmt.Errorf("** stands for whole segments; write %s", strings.ReplaceAll(s, "**", "*"))
		}
	}
	return p, nil
}

func parsePatterns(field string, texts []string) ([]pattern, error) {
	all := make([]pattern, len(texts))
	for i, text := range texts {
		var err error
		if all[i], err = parsePattern(text); err != nil {
			return nil, fmt.Errorf("gate: Config.%s has %q: %w", field, text, err)
		}
	}
	return all, nil
}

// segments are the parts of a path between its slashes.
func segments(path string) []string {
	path = strings.TrimPrefix(path, "/")
	if path = strings.TrimSuffix(path, "/"); path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

func (p pattern) match(path []string) bool {
	return glob(p, path, func(s string) bool { return s == "**" }, func(p, s string) bool {
		return glob([]byte(p), []byte(s), func(c byte) bool { return c == '*' }, func(p, c byte) bool { return p == c })
	})
}

func matchAny(all []pattern, path []string) bool {
	return slices.ContainsFunc(all, func(p pattern) bool { return p.match(path) })
}

// glob matches text, where an item of the pattern that is a star stands for any number
// of items. It tries again from the last such item only, so that its time is
// bounded by the product of the lengths.
func glob[T any](pattern, text []T, star func(T) bool, same func(pattern, text T) bool) bool {
	p, last, from := 0, -1, 0
	for t := 0; t < len(text); {
		switch {
		case p < len(pattern) && star(pattern[p]):
			last, from = p, t
			p++
		case p < len(pattern) && same(pattern[p], text[t]):
			p++
			t++
		case last >= 0:
			from++
			p, t = last+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && star(pattern[p]) {
		p++
	}
	return p == len(pattern)
}
