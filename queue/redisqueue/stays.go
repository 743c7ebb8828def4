package redisqueue

import (
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// cohorts is the number of them in stays.lua.
const cohorts = 32

// stays reads how long users stay; see stays.lua. now is the time of the answer.
func (a *answer) stays(now time.Time) *driver.Stays {
	n := a.int()
	s := &driver.Stays{Active: a.times(time.Millisecond), NoShow: a.times(time.Millisecond), Tick: a.times(time.Microsecond), Batch: a.int()}
	if n == 4 {
		return s // no user has entered
	}
	if n != 9+2*cohorts+driver.StayBuckets {
		a.short = true
		return s
	}
	span, newest, since := a.number(), a.number(), a.number()
	a.number() // the beginning of the second count of stays
	s.Over = max(0, now.Sub(time.UnixMilli(since)))
	s.Came = a.number()
	var users, sums [cohorts]int64
	for i := range users {
		users[i], sums[i] = a.number(), a.number()
	}
	for number := newest - cohorts + 1; number <= newest; number++ {
		if n := users[(number%cohorts+cohorts)%cohorts]; n > 0 {
			came := time.UnixMilli(number*span + sums[(number%cohorts+cohorts)%cohorts]/n)
			s.Inside = append(s.Inside, driver.Cohort{Users: int(n), Age: max(0, now.Sub(came))})
		}
	}
	for i := range s.Ended {
		s.Ended[i] = a.number()
	}
	return s
}
