package scenarios

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// Fans pay within half a second of the end of their holds, by a gateway that takes three
// seconds to decide, while others let theirs expire, so that the sweep runs. Every
// accepted payment buys its seats.
func TestScenario30LastMoment(t *testing.T) {
	play := func(t *testing.T, o *office) {
		v := o.visitBy(crowd.Config{
			Fans: often(t, 60, 24), Concurrency: 12, Seed: 30,
			Plans: []crowd.Plan{crowd.PlanLastMoment, crowd.PlanLastMoment, crowd.PlanExpire},
		}, o.apis()...)
		v.leave()
		ends := v.fans.Progress().Ends
		if ends[crowd.EndLate] > 0 || ends[crowd.EndConfirmed] < 5 || ends[crowd.EndExpired] < 5 {
			t.Errorf("the visits ended as %v: want accepted payments that confirm, holds that run out, and nobody too late", ends)
		}
		late, all := 0, 0
		for _, rec := range v.fans.Records() {
			for _, r := range rec.Reservations {
				if r.Status != crowd.Confirmed {
					continue
				}
				all++
				if r.Bought.After(r.Expires.Add(time.Second)) {
					late++
				}
			}
		}
		// Or the gateway was quick, and the holds had not ended.
		if late < all/2 {
			t.Errorf("%d of %d bookings were confirmed a second after the end of the hold or later: want most", late, all)
		}
		measured(t, "%d bookings, of them %d confirmed more than a second after their hold had ended; %d holds ran out; none too late",
			all, late, ends[crowd.EndExpired])
	}
	columns(t, func(t *testing.T) { play(t, openOffice(t, officePlan{hold: 4 * time.Second})) },
		func(t *testing.T) { play(t, openOffice(t, officePlan{processes: apart(), hold: 4 * time.Second})) })
}
