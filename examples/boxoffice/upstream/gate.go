package upstream

import (
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream/window"
)

// second is the width of every window.
const second = time.Second

// gate is where calls arrive: one lock under which a call gets its time, is
// counted, judged and logged. So times, counts and log have one order.
type gate struct {
	clock  func() time.Duration
	limit  int
	banFor time.Duration
	budget int64

	mu  sync.Mutex
	log callLog
	tally
}

// tally has the counts that a reset clears.
type tally struct {
	since       time.Duration
	last        time.Duration
	counter     *window.Counter
	calls       int64
	violations  int64
	bans        int64
	bannedUntil time.Duration
	refused     int64
	late        int64
	day         int64 // since 1970
	dayCalls    int64
	overBudget  int64
	classes     [classCount]int64
	statuses    map[int]int64
	instances   map[uint16]int64
	queue       histogram // from arrival to handler
	handler     histogram
}

// ticket is a call that has arrived and the decision about it.
type ticket struct {
	seq     uint64
	arrival time.Duration
	banned  time.Duration // how long from the arrival; 0 when it is not
	overDay bool
}

func newGate(cfg Config) *gate {
	g := &gate{clock: cfg.Clock, limit: cfg.Limit, banFor: cfg.BanFor, budget: cfg.DailyBudget}
	g.log.limit = cfg.LogCalls
	g.reset()
	return g
}

// reset clears the counts, and the ban. Calls that have arrived and are not answered
// yet are not counted again.
func (g *gate) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.log.clear()
	g.tally = tally{
		since: g.clock(), counter: window.NewCounter(second),
		statuses: map[int]int64{}, instances: map[uint16]int64{},
	}
}

// arrive counts a call that arrives now. late means that its time could not be taken
// where its first bytes were read.
func (g *gate) arrive(late bool) ticket {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := max(g.clock(), g.last)
	g.last = now
	t := ticket{arrival: now}
	g.calls++
	if late {
		g.late++
	}
	if g.counter.Add(now) > g.limit {
		g.violations++
		if now >= g.bannedUntil {
			g.bans++
		}
		g.bannedUntil = now + g.banFor
	}
	if day := today(); day != g.day {
		g.day, g.dayCalls = day, 0
	}
	g.dayCalls++
	if t.overDay = g.dayCalls > g.budget; t.overDay {
		g.overBudget++
	}
	t.banned = max(g.bannedUntil-now, 0)
	t.seq = g.log.add(now)
	return t
}

// identify adds the headers' values to a call, when the handler begins.
func (g *gate) identify(t ticket, h identity) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.seq < g.log.floor {
		return // before the reset
	}
	instance := g.log.intern(h.instance)
	g.classes[h.class]++
	g.instances[instance]++
	g.queue.add(g.clock() - t.arrival)
	if r := g.log.at(t.seq); r != nil {
		r.class, r.instance, r.sent = h.class, instance, h.sent
	}
}

// decide adds how a call is answered, before it is: a caller that has the answer
// finds the call counted.
func (g *gate) decide(t ticket, status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.seq < g.log.floor {
		return
	}
	g.statuses[status]++
	if t.banned > 0 || t.overDay {
		g.refused++
	}
	if r := g.log.at(t.seq); r != nil {
		r.status = uint16(status)
	}
}

// finish adds how long the handler took, simulated time and sending included.
func (g *gate) finish(t ticket, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.seq >= g.log.floor {
		g.handler.add(took)
	}
}

// today counts the days (UTC) since 1970.
func today() int64 { return time.Now().Unix() / 86_400 }
