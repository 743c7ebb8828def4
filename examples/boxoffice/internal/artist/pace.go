package artist

import (
	"cmp"
	"fmt"
	"time"
)

// Pace is how many refreshes a second prefetch may ask for, by the time of day.
type Pace struct {
	// Usual rate; 250 when zero.
	Usual int
	// Evening is the rate from 19:00 to 23:59, when readers need the budget; 150
	// when zero.
	Evening int
	// Zone that the hours are of; time.Local when nil.
	Zone *time.Location
}

func (p Pace) withDefaults() Pace {
	p.Usual = cmp.Or(p.Usual, 250)
	p.Evening = cmp.Or(p.Evening, 150)
	if p.Zone == nil {
		p.Zone = time.Local
	}
	return p
}

func (p Pace) validate() error {
	if p.Usual < 0 || p.Evening < 0 {
		return fmt.Errorf("artist: Pace.Usual is %d and Pace.Evening %d; use positive rates, or 0 for 250 and 150", p.Usual, p.Evening)
	}
	return nil
}

// At is the rate at a moment.
func (p Pace) At(t time.Time) int {
	if t.In(p.Zone).Hour() >= 19 {
		return p.Evening
	}
	return p.Usual
}
