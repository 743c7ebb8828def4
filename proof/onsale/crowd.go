package onsale

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/percentile"
	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/queue/driver"
)

// retry is how long people wait after a call that failed.
const retry = time.Second

// sale is a run.
type sale struct {
	cfg       Config
	schedule  *schedule
	people    []person
	instances []*instance
	redis     *redisserver.Server // nil without
	store     driver.Store        // the first instance's
	record    *record
	caller    *caller
	closers   []func() error

	check, heartbeat, done, leaving action

	checks, polls percentile.Meter // the times of the calls that line a person up, and of the others
	arrived       atomic.Int64
	entered       atomic.Int64     // people who know that they are inside
	ended         atomic.Int64     // people who were inside
	failures      atomic.Int64     // calls without an answer
	forgotten     atomic.Int64     // people who wait or are inside, and were told that they do not
	unsealed      atomic.Int64     // people inside without a token
	waits         percentile.Meter // from the arrival until inside

	mu     sync.Mutex
	failed map[string]int // by the answer
}

func (s *sale) fail(err error) {
	s.failures.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.failed[err.Error()]; known || len(s.failed) < 10 {
		s.failed[err.Error()]++
	}
}

// act takes the due step of a person, and returns the time to the next, negative
// for never.
func (s *sale) act(ctx context.Context, n int32) (again time.Duration) {
	p := &s.people[n]
	now := s.schedule.now()
	switch {
	case p.crashes > 0 && now >= p.crashes && p.stage != inside:
		p.stage = crashed
		return -1
	case p.stage == waiting && p.leaves > 0 && now >= p.leaves, p.stage == inside && now >= p.stay.from+p.hold:
		return s.leave(ctx, n, p, now)
	}
	what, timed := s.check, &s.polls
	switch p.stage {
	case coming:
		timed = &s.checks
		if p.first.from == 0 {
			p.first.from = now
		}
	case inside:
		what = s.heartbeat
	}
	a, err := s.caller.call(ctx, s.next(p), what, user(n), p.ticket)
	after := s.schedule.now()
	if err != nil {
		s.fail(err)
		return after + retry
	}
	timed.Add(after - now)
	if p.stage == coming {
		p.first.to = after
		s.arrived.Add(1)
	}
	if a.Ticket != "" {
		p.ticket = a.Ticket
	}
	switch a.Status {
	case "queued":
		if p.stage == inside {
			s.forgotten.Add(1)
		}
		p.stage = waiting
	case "active":
		if a.EntryToken == "" {
			s.unsealed.Add(1)
		}
		if p.stage != inside {
			p.stage, p.stay.from = inside, after
			s.entered.Add(1)
			s.waits.Add(after - p.first.from)
		}
		// A person inside polls as told, or leaves when all is bought.
		return min(after+a.next(), p.stay.from+p.hold)
	default:
		s.forgotten.Add(1)
	}
	return after + a.next()
}

// leave takes the person out, from the line or from inside.
func (s *sale) leave(ctx context.Context, n int32, p *person, now time.Duration) (again time.Duration) {
	if p.stay.to == 0 {
		p.stay.to = now
	}
	what := s.leaving
	if p.stage == inside {
		what = s.done
	}
	if _, err := s.caller.call(ctx, s.next(p), what, user(n), ""); err != nil {
		s.fail(err)
		return s.schedule.now() + retry
	}
	if p.stage == inside {
		p.stage = done
		s.ended.Add(1)
	} else {
		p.stage = left
	}
	return -1
}

// next is the instance that the load balancer chooses: another one each time.
func (s *sale) next(p *person) *instance {
	p.where = (p.where + 1) % len(s.instances)
	return s.instances[p.where]
}
