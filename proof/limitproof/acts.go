package limitproof

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/ratelimit"
)

// act is one row of the proof: the demand of the workers, and the fault.
type act struct {
	key, name string
	least     time.Duration // it is measured for at least so long
	limits    func(c config) ratelimit.Limits
	demand    func(c config, worker int) demand
	fault     func(ctx context.Context, p *plot) (happened, error) // nil for none
	wants     wants
}

// wants are the goals of an act, beside the limits that no act may break.
type wants struct {
	use     bool // all of the rate is used
	reserve bool // high has its reserve soon
	broken  bool // the limit is exceeded
}

// highShare: the steady demand of high priority is a third of the rate.
const highShare = 3

// flood is the demand of low priority in a second, as a multiple of the rate: 5,000
// of 450.
const flood = 5000.0 / 450

func everyAct() []act {
	steady := func(c config, worker int) demand {
		every := time.Duration(c.workers) * time.Second * highShare / time.Duration(c.rate)
		return demand{HighEvery: every, HighOffset: every * time.Duration(worker) / time.Duration(c.workers), LowCallers: 8}
	}
	return []act{
		{key: "steady", name: "high at a third, low wants all", limits: config.budget, demand: steady, wants: wants{use: true}},
		{key: "low", name: "low alone wants all", limits: config.budget, demand: func(config, int) demand {
			return demand{LowCallers: 8}
		}},
		{key: "reserve", name: "high begins in a flood of low", limits: config.budget, wants: wants{reserve: true}, demand: floodThenHigh},
		{key: "gc", name: "garbage and stopped worlds", limits: config.budget, demand: func(c config, worker int) demand {
			d := steady(c, worker)
			d.Garbage = true
			return d
		}},
		{key: "restart", name: "Redis is killed, twice", limits: config.budget, demand: steady, fault: killRedis, least: 3 * time.Second},
		{key: "flush", name: "FLUSHALL, again and again", limits: config.budget, demand: steady, fault: flushRedis},
		{key: "stop", name: "workers are stopped (SIGSTOP)", limits: config.budget, demand: steady, fault: stopWorkers},
		{key: "clock", name: "Redis' clock steps (stored times moved)", limits: steppedBudget, demand: steady, fault: stepClock, least: 2 * time.Second},
		{key: "broken", name: "broken on purpose: a burst of a second", limits: brokenBudget, wants: wants{broken: true}, least: 3 * time.Second, demand: restThenAll},
	}
}

func actKeys() []string {
	var keys []string
	for _, a := range everyAct() {
		keys = append(keys, a.key)
	}
	return keys
}

// floodThenHigh asks for far more low calls than are permitted, and in the middle of
// that for half as much again as the reserve of high.
func floodThenHigh(c config, _ int) demand {
	return demand{
		LowAsks:    int(flood * float64(c.rate) / float64(c.workers)),
		HighOffset: c.lead + time.Duration(c.seconds)*time.Second/2,
		HighEvery:  time.Duration(c.workers) * time.Second * 2 / time.Duration(3*c.reserve()),
	}
}

// reserve of high priority, per second.
func (c config) reserve() int { return max(1, c.rate-c.low) }

// steppedBudget has the arithmetic that covers steps of the clock.
func steppedBudget(c config) ratelimit.Limits {
	l := c.budget()
	l.ClockSteps = true
	return l
}

// wishfulBudget ignores that a full bucket is refilled while it is emptied, a common
// mistake.
func wishfulBudget(c config) ratelimit.Limits {
	l := c.budget()
	l.Burst = c.rate
	return l
}

// brokenBudget is wishfulBudget with a false limit of the upstream, without which
// ratelimit refuses it.
func brokenBudget(c config) ratelimit.Limits {
	l := wishfulBudget(c)
	l.HardLimit = 4 * c.hard
	return l
}

// restThenAll lets the bucket fill, which takes a second, and then takes all of it.
// Callers are few, because the first call of each makes a connection: its permit is
// returned, and is worthless by then.
func restThenAll(c config, _ int) demand {
	return demand{Touch: true, HighCallers: max(1, c.rate/10/c.workers), HighOffset: 1300 * time.Millisecond}
}
