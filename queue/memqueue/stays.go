package memqueue

import (
	"math"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// cohorts is the number of spans of time in which users came in that are told apart:
// those of Rules.Active, and two since the first and the last are not complete.
const cohorts = 32

// stays counts users inside by when they came in, and the stays that are over. All
// counts are of fixed number, so that a step costs the same in every room.
type stays struct {
	rules  driver.Rules // by which a user entered last; zero while none has
	span   int64        // µs: a cohort came in within it
	newest int64        // number of the span that is the newest
	inside [cohorts]struct{ users, sum int64 }
	// Stays of users that came in from since on, and the same from next on: the
	// second takes the place of the first when it has enough of them.
	since, next int64
	ended, anew [driver.StayBuckets]int64
	came        int64
}

// enough stays for a distribution: of several times as many users as there are
// inside, so that the long ones are among them.
func enough(threshold int) int64 { return 4 * int64(min(max(threshold, 250), math.MaxInt32)) }

// roll makes the cohort of the present the newest.
func (s *stays) roll(now int64, r driver.Rules) {
	span := max(1, (r.Active.Microseconds()+cohorts-3)/(cohorts-2))
	if s.span != span {
		*s = stays{span: span, newest: now / span, since: now, next: now, came: s.came}
	}
	for s.newest < now/span {
		s.newest = max(s.newest+1, now/span-cohorts+1)
		s.inside[s.newest%cohorts] = struct{ users, sum int64 }{}
	}
}

// enter counts a user that comes in now.
func (s *stays) enter(now int64, r driver.Rules) {
	s.roll(now, r)
	s.rules = r
	c := &s.inside[s.newest%cohorts]
	c.users++
	c.sum += max(0, now-s.newest*s.span)
}

// leave counts a user that came in then and is out now.
func (s *stays) leave(began, now int64, r driver.Rules, threshold int) {
	s.roll(now, r)
	if number := min(began/s.span, s.newest); number > s.newest-cohorts {
		if c := &s.inside[number%cohorts]; c.users > 0 {
			c.users--
			if c.sum = max(0, c.sum-began+number*s.span); c.users == 0 {
				c.sum = 0
			}
		}
	}
	bucket := driver.StayBucket(span(now - began))
	if began >= s.since {
		s.ended[bucket]++
	}
	if began < s.next {
		return
	}
	s.anew[bucket]++
	n := int64(0)
	for _, count := range s.anew {
		n += count
	}
	if n >= enough(threshold) {
		s.since, s.ended = s.next, s.anew
		s.next, s.anew = now, [driver.StayBuckets]int64{}
	}
}

// now are the stays as the package queue knows them. r are the rules of the caller.
func (s *stays) now(now int64, r driver.Rules) *driver.Stays {
	if s.rules.Batch > 0 {
		r = s.rules
	}
	told := &driver.Stays{
		Active: r.Active, NoShow: r.NoShow, Tick: r.Tick, Batch: r.Batch,
		Ended: s.ended, Over: time.Duration(max(0, now-s.since)) * time.Microsecond, Came: s.came,
	}
	for number := s.newest - cohorts + 1; number <= s.newest; number++ {
		if c := s.inside[(number%cohorts+cohorts)%cohorts]; c.users > 0 {
			told.Inside = append(told.Inside, driver.Cohort{Users: int(c.users), Age: span(max(0, now-number*s.span-c.sum/c.users))})
		}
	}
	return told
}
