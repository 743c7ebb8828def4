package crowd_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/officetest"
)

// A fan that grasps at more seats records its seats of that moment, gives back all beside
// its first hold, and pays for that.
func TestGrasp(t *testing.T) {
	for fault, greedy := range map[officetest.Fault]bool{officetest.None: false, officetest.NoLimits: true} {
		o := officetest.Start(t, officetest.Config{Seats: 400, Fault: fault, Hold: 20 * time.Second})
		c := run(t, o, crowd.Config{Fans: 6, Concurrency: 1, Plans: []crowd.Plan{crowd.PlanGrasp}})
		assert.Equalf(t, "", wrong(c), "%s", fault)
		for _, rec := range c.Records() {
			g := rec.Grasp
			if g == nil || g.Asked != 12 || g.Bought != 0 || (g.Held > 6) != greedy {
				t.Errorf("%q: %s had %+v", fault, rec.Member, g)
				continue
			}
			confirmed := 0
			for _, r := range rec.Reservations {
				if r.Status == crowd.Confirmed {
					confirmed++
				} else if r.Status != crowd.Cancelled {
					t.Errorf("%q: %s left %s %s", fault, rec.Member, r.ID, r.Status)
				}
			}
			if rec.End != crowd.EndConfirmed || confirmed != 1 {
				t.Errorf("%q: %s ended as %s with %d bookings", fault, rec.Member, rec.End, confirmed)
			}
		}
	}
}

// Seats that are freed while their payment is in flight end as too late.
func TestLate(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Fault: officetest.LetGo})
	c := run(t, o, crowd.Config{Fans: 10, Plans: []crowd.Plan{crowd.PlanLastMoment}})
	if n := c.Progress().Ends[crowd.EndLate]; n == 0 {
		t.Errorf("nobody was too late: %v", c.Progress().Ends)
	}
}
