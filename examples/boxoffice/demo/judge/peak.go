package judge

import (
	"cmp"
	"slices"
	"time"
)

// Span is a time, such as a stay inside. To is 0 while it lasts.
type Span struct{ From, To time.Duration }

// Peak is the greatest number of spans at one moment. At the same moment the spans that
// end come first: a moment has no length.
func Peak(spans []Span) (most int) {
	type step struct {
		at time.Duration
		by int
	}
	var all []step
	for _, s := range spans {
		if s.To != 0 && s.To <= s.From {
			continue // it was over before the answer that began it came
		}
		all = append(all, step{s.From, 1})
		if s.To != 0 {
			all = append(all, step{s.To, -1})
		}
	}
	slices.SortFunc(all, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	n := 0
	for _, s := range all {
		n += s.by
		most = max(most, n)
	}
	return most
}
