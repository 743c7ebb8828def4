package redrive

import (
	"slices"
	"time"
)

// Filter chooses dead letters. Every field that is set must hold. The zero
// Filter shows all in List, and is refused by what changes anything.
type Filter struct {
	All bool // every letter, where no field below is set

	IDs           []string // not nil and empty chooses nothing
	Type          string   // of the event
	Reason        string
	Group         string    // that gave up
	OriginalTopic string    // it failed in
	Since, Until  time.Time // of the last failure: Since ≤ t < Until
}

func (f Filter) empty() bool {
	return !f.All && f.IDs == nil && f.Type == "" && f.Reason == "" && f.Group == "" && f.OriginalTopic == "" &&
		f.Since.IsZero() && f.Until.IsZero()
}

func (f Filter) matches(l Letter) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	return (f.IDs == nil || slices.Contains(f.IDs, l.ID)) &&
		is(f.Type, l.Type()) && is(f.Reason, l.Reason) && is(f.Group, l.Group) && is(f.OriginalTopic, l.OriginalTopic) &&
		(f.Since.IsZero() || !l.LastFailure.Before(f.Since)) &&
		(f.Until.IsZero() || l.LastFailure.Before(f.Until))
}
