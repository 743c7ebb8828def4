package redrive

import (
	"slices"
	"time"
)

// Filter selects dead letters. A letter must match every field that is set. The zero Filter
// selects all in List, and is refused by Redrive and Drop.
type Filter struct {
	All bool // every letter, if no field below is set

	IDs           []string // empty but not nil selects no letter
	Type          string   // of the event
	Reason        string
	Group         string    // in which the message failed
	OriginalTopic string    // in which the message failed
	Since, Until  time.Time // of the last failure: Since ≤ t < Until
}

func (f Filter) empty() bool {
	return !f.All && f.IDs == nil && f.Type == "" && f.Reason == "" && f.Group == "" && f.OriginalTopic == "" &&
		f.Since.IsZero() && f.Until.IsZero()
}

func (f Filter) matches(l Letter) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	return (f.IDs == nil || slices.Contains(f.IDs, l.ID)) &&
		is(f.Type, l.Type) && is(f.Reason, l.Reason) && is(f.Group, l.Group) && is(f.OriginalTopic, l.OriginalTopic) &&
		(f.Since.IsZero() || !l.LastFailure.Before(f.Since)) &&
		(f.Until.IsZero() || l.LastFailure.Before(f.Until))
}
