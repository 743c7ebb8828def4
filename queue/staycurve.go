package queue

import (
	"math"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// stayCurve is the share of stays that last longer than a time.
type stayCurve struct {
	from   [driver.StayBuckets + 1]float64 // the least length of a bucket in s
	hazard [driver.StayBuckets]float64     // the share that ends in a second, of those that lasted so long
	passed [driver.StayBuckets]float64     // the sum of the hazards up to a bucket
	limit  float64                         // s: no stay lasts longer
	ended  float64                         // how many stays the curve was made of
}

// unseen is the part of what is left of Active after which stays end that are older
// than all that were seen.
const unseen = 0.55

// curveOf estimates how long users stay from those that have left and those that are
// inside, whose stay is at least their age so far: the product-limit estimator of
// Kaplan and Meier (Nonparametric Estimation from Incomplete Observations, Journal
// of the American Statistical Association 53, 1958), here with a constant hazard
// within a bucket: the stays that ended in it, divided by the time that all users
// have spent in it. The hazard of the bucket before counts like one more user.
//
// No estimator knows how stays go on that are older than all so far. They are taken
// to end after 55 % of what is left of Active by then at the latest, which is within
// a factor of two if they last from 30 % of Active to all of it, and before with a
// hazard between the last one that was seen and that of this time.
func curveOf(s *driver.Stays) stayCurve {
	c := stayCurve{limit: s.Active.Seconds()}
	for i := 1; i < driver.StayBuckets; i++ {
		c.from[i] = math.Exp2(float64(i) / 2)
	}
	c.from[driver.StayBuckets] = math.Inf(1)
	oldest := oldestOf(s, &c)
	if oldest < c.limit {
		c.limit = oldest + unseen*(c.limit-oldest)
	}
	beyond := 0.0
	for _, n := range s.Ended {
		beyond += float64(n)
	}
	c.ended = beyond
	before, passed, known := 0.0, 0.0, true
	for i := range c.hazard {
		from, ended := c.from[i], float64(s.Ended[i])
		width := max(0, min(c.from[i+1], c.limit)-from)
		if known && from >= oldest && width > 0 {
			known, before = false, math.Sqrt(before/(c.limit-oldest))
		}
		beyond -= ended
		spent := beyond*width + ended*width/2
		for _, cohort := range s.Inside {
			if cohort.Age <= s.Over {
				spent += float64(cohort.Users) * min(width, max(0, cohort.Age.Seconds()-from))
			}
		}
		switch {
		case before > 0:
			before = (ended + 1) / (spent + 1/before)
		case ended > 0 && spent > 0:
			before = ended / spent
		}
		c.hazard[i], c.passed[i] = before, passed
		passed += before * width
	}
	return c
}

// oldestOf is the age in s that a part of the users, not just some of them, has reached.
func oldestOf(s *driver.Stays, c *stayCurve) float64 {
	inside := 0
	for _, cohort := range s.Inside {
		inside += cohort.Users
	}
	few := max(1, int64(inside/50))
	beyond, age := int64(0), 0.0
	for i := driver.StayBuckets - 1; i >= 0 && beyond < few; i-- {
		beyond += s.Ended[i]
		age = c.from[i]
	}
	older := int64(0)
	for _, cohort := range s.Inside {
		if older += int64(cohort.Users); older >= few {
			return max(age, cohort.Age.Seconds())
		}
	}
	return age
}

// longer is the share of stays longer than a time in s.
func (c *stayCurve) longer(seconds float64) float64 {
	switch {
	case seconds >= c.limit:
		return 0
	case seconds <= 0:
		return 1
	}
	i := driver.StayBucket(time.Duration(seconds * float64(time.Second)))
	return math.Exp(-c.passed[i] - c.hazard[i]*(seconds-c.from[i]))
}

// mean is the mean length in s: the area below the curve.
func (c *stayCurve) mean() (sum float64) {
	for i, hazard := range c.hazard {
		width := max(0, min(c.from[i+1], c.limit)-c.from[i])
		if hazard > 0 {
			width = -math.Expm1(-hazard*width) / hazard
		}
		sum += math.Exp(-c.passed[i]) * width
	}
	return sum
}
