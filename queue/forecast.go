package queue

import (
	"math"
	"sort"
	"time"
)

// steps of a forecast, and how many of them a place is taken for on average.
const (
	forecastSteps = 240
	stepsEach     = 24
)

// forecast is how many users of the line take a place within a time from now on, if the
// line is long enough. It does not change.
type forecast struct {
	epoch    uint64
	at       time.Duration          // on the room's clock
	most     float64                // turns in a second, by the batch
	silent   int                    // users before all others that have probably gone
	coming   float64                // the share of the others that take a place at their turn
	step     float64                // s
	admitted [forecastSteps]float64 // up to the end of each step
	steps    int
	pace     float64 // admissions in a second from then on
	spread   float64 // the truth is probably within the estimate by and times this factor
}

// newForecast follows the places of a room in steps: those of the users inside get
// free by the curve of the stays, given their age; those of users to come by the same
// curve from their admission on. No-shows take no place. Every free place is given to
// the line, by at most Batch turns in each Tick. Later on the pace is that of Little's
// law: the places divided by the time for which one is taken. The places are those of the
// threshold, or of the stock where that is less.
func newForecast(s *State) *forecast {
	stays := s.Stays
	curve := curveOf(stays)
	gone := float64(s.NoShows) + float64(s.Silent)
	coming := 1 - gone/(gone+float64(stays.Came)+1)
	each := curve.mean()
	most := float64(stays.Batch) / stays.Tick.Seconds()

	places := float64(places(s))
	f := &forecast{
		epoch: s.Epoch, most: most, silent: min(s.Silent, s.Entitled), coming: coming, step: max(each/stepsEach, 1e-3),
		pace:   min(coming*most, places/max(each, 1e-3)),
		spread: 1 + 1/math.Sqrt(1+curve.ended/8),
	}
	inside := insideOf(s, &curve)
	var longer, came [forecastSteps]float64 // of a place taken by a user to come; of admissions in a step
	enough, sum := float64(s.Waiting+1), 0.0
	for k := range forecastSteps {
		now := float64(k) * f.step
		longer[k] = curve.longer(now)
		taken := 0.0
		for _, c := range inside {
			taken += c.users * curve.longer(c.age+now)
		}
		for j := range k {
			taken += came[j] * longer[k-j]
		}
		came[k] = max(0, places-taken)
		if k > 0 {
			came[k] = min(came[k], coming*most*f.step)
		}
		sum += came[k]
		f.admitted[k], f.steps = sum, k+1
		if sum > enough {
			break
		}
	}
	return f
}

// agedUsers are users of an age in s, divided by the share of stays that are as long.
type agedUsers struct{ users, age float64 }

// insideOf are the users inside by their age. Those the store knows no age of, as of
// an older release, are as the others.
func insideOf(s *State, c *stayCurve) []agedUsers {
	known := 0
	for _, cohort := range s.Stays.Inside {
		known += cohort.Users
	}
	if known == 0 {
		return []agedUsers{{users: float64(s.Active)}}
	}
	var inside []agedUsers
	scale := float64(s.Active) / float64(known)
	for _, cohort := range s.Stays.Inside {
		age := cohort.Age.Seconds()
		if share := c.longer(age); share > 0 {
			inside = append(inside, agedUsers{scale * float64(cohort.Users) / share, age})
		}
	}
	return inside
}

// wait is the time in s until a position has a place.
func (f *forecast) wait(position int) float64 {
	turn := float64(max(1, position-f.silent))
	p := 1 + (turn-1)*f.coming
	admitted := f.admitted[:f.steps]
	free := 0.0
	switch k := sort.SearchFloat64s(admitted, p); k {
	case 0: // there are places now
	case f.steps:
		free = float64(k-1)*f.step + (p-admitted[k-1])/f.pace
	default:
		free = (float64(k-1) + (p-admitted[k-1])/(admitted[k]-admitted[k-1])) * f.step
	}
	return max(free, turn/f.most)
}

// foresee is the forecast for a line in a state, nil when there is none. After
// Config.Refresh one caller makes the next; the others take the old one until then.
func (l *line) foresee(s *State, now time.Duration) *forecast {
	if !foreseeable(s) {
		return nil
	}
	f := l.forecast.Load()
	usable := f != nil && f.epoch == s.Epoch
	if usable && (now-f.at < l.room.cfg.Refresh || !l.forecasting.TryLock()) {
		return f
	}
	if !usable {
		l.forecasting.Lock()
	}
	defer l.forecasting.Unlock()
	if other := l.forecast.Load(); other != f && other.epoch == s.Epoch {
		return other
	}
	f = newForecast(s)
	f.at = now
	l.forecast.Store(f)
	return f
}
