package ops

import (
	"math"
	"slices"
	"time"

	"github.com/millrace-go/millrace/queue"
)

const (
	// admittedShown is how many seconds of admissions a report has.
	admittedShown = 120
	// admittedGap is the longest time between two samples over which admissions are
	// spread: those of a longer gap are not known by the second.
	admittedGap = 5 * time.Second
)

// admissions has the number of admissions of a room at each look, in order of the
// store's clock.
type admissions struct{ samples []admissionSample }

type admissionSample struct {
	at      time.Time
	epoch   uint64
	entered int64
}

// add records the state of a room. A clock that was put back starts again.
func (a *admissions) add(s queue.State) {
	next := admissionSample{s.Now, s.Epoch, s.Entered}
	if n := len(a.samples); n > 0 {
		switch last := a.samples[n-1]; {
		case next.at.Before(last.at.Add(-admittedGap)):
			a.samples = a.samples[:0]
		case !next.at.After(last.at):
			return // the answers came in another order than the questions
		}
	}
	a.samples = append(a.samples, next)
	const most = 4 * admittedShown // at any rate of looks
	oldest := next.at.Add(-admittedShown*time.Second - admittedGap)
	from := max(0, len(a.samples)-most)
	for a.samples[from].at.Before(oldest) {
		from++
	}
	a.samples = slices.Delete(a.samples, 0, from)
}

// admittedReport has a figure for each of the seconds that end at Until; null for
// seconds without a look, and where the counts were reset.
type admittedReport struct {
	Until     int64      `json:"until"` // Unix seconds
	PerSecond []*float64 `json:"perSecond"`
}

// perSecond spreads the admissions between two samples evenly over that time.
func (a *admissions) perSecond() admittedReport {
	r := admittedReport{PerSecond: make([]*float64, admittedShown)}
	if len(a.samples) == 0 {
		return r
	}
	r.Until = a.samples[len(a.samples)-1].at.Unix()
	begin := time.Unix(r.Until-admittedShown, 0)
	var sums, covered [admittedShown]float64
	for i := 1; i < len(a.samples); i++ {
		from, to := a.samples[i-1], a.samples[i]
		took := to.at.Sub(from.at)
		if from.epoch != to.epoch || to.entered < from.entered || took > admittedGap {
			continue
		}
		rate := float64(to.entered-from.entered) / took.Seconds()
		a, b := from.at.Sub(begin).Seconds(), to.at.Sub(begin).Seconds()
		for second := max(0, int(math.Floor(a))); second < admittedShown && float64(second) < b; second++ {
			part := min(b, float64(second+1)) - max(a, float64(second))
			sums[second] += rate * part
			covered[second] += part
		}
	}
	for second := range sums {
		if covered[second] > 1-1e-6 {
			n := math.Round(100*sums[second]) / 100
			r.PerSecond[second] = &n
		}
	}
	return r
}
