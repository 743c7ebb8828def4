package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// absent is the error about a name that does not exist, with the nearest that does. The
// place is where it was looked for, as in "on the transport".
func absent(what, name, place string, there []string) error {
	return fmt.Errorf("there is no %s %q %s%s", what, plain(name), place, nearestText(name, there))
}

// nearestText ends an error with the nearest existing name, if any.
func nearestText(name string, there []string) string {
	if near, ok := nearest(name, there); ok {
		return fmt.Sprintf("; the nearest that is there is %q", plain(near))
	}
	return ""
}

// nearest is the existing name that differs least, case aside; of several the first in
// order. Numbers differ by their difference.
func nearest(name string, there []string) (string, bool) {
	if len(there) == 0 {
		return "", false
	}
	wanted, err := strconv.Atoi(name)
	of := func(s string) int {
		if n, nerr := strconv.Atoi(s); err == nil && nerr == nil {
			return max(wanted-n, n-wanted)
		}
		return distance(strings.ToLower(name), strings.ToLower(s))
	}
	return slices.MinFunc(slices.Sorted(slices.Values(there)), func(a, b string) int { return of(a) - of(b) }), true
}

// distance is how many letters have to be changed, added, removed, or exchanged with their
// neighbour, to turn one text into the other (optimal string alignment).
func distance(from, to string) int {
	a, b := []rune(from), []rune(to)
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		now[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			now[j+1] = min(last[j+1]+1, now[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}
