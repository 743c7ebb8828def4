package upstream

import (
	"maps"
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream/window"
)

// Stats are the upstream's figures since it started or was reset. Times are
// nanoseconds of the clock that callers use for [HeaderSentAt].
type Stats struct {
	Now         time.Duration `json:"nowNs"`
	Since       time.Duration `json:"sinceNs"`
	Limit       int           `json:"limit"`
	DailyBudget int64         `json:"dailyBudget"`
	BodyBytes   int           `json:"bodyBytes"`

	// Calls are all arrivals, Violations the arrivals at which the window that ends
	// there is over the limit. Refused were answered with 429 for that or for the day. A
	// ban that a violation prolongs is still one of Bans.
	Calls       int64         `json:"calls"`
	Violations  int64         `json:"violations"`
	Worst       window.Window `json:"worst"`
	Bans        int64         `json:"bans"`
	BannedUntil time.Duration `json:"bannedUntilNs"` // 0 without a ban
	Refused     int64         `json:"refused"`
	// Today are the calls of the day (UTC), OverBudget those after a day's budget was
	// used up.
	Today      int64 `json:"today"`
	OverBudget int64 `json:"overBudget"`
	// Late are calls whose time was taken in the handler: pipelined ones, and
	// all of them under another server than Serve.
	Late int64 `json:"late"`

	Classes   map[string]Class `json:"classes"` // high, low, and none for calls without a priority
	Instances map[string]int64 `json:"instances"`
	Statuses  map[int]int64    `json:"statuses"` // 0: the connection was broken on purpose
	Faults    map[string]int64 `json:"faults"`   // by kind, status_503 and so on

	// Queue is from arrival to handler, Handler the handler with the simulated
	// time in it.
	Queue   Quantiles `json:"queue"`
	Handler Quantiles `json:"handler"`

	// Log describes the part of the log that the rest is about.
	Log  Logged `json:"log"`
	Sent Sent   `json:"sent"`
}

// Class is one priority. Worst and WorstSent are the fullest windows of the
// logged calls by arrival and by the callers' send time.
type Class struct {
	Calls     int64         `json:"calls"`
	Worst     window.Window `json:"worst"`
	WorstSent window.Window `json:"worstSent"`
}

// Logged is the part of the log that was read. Lost are the calls that were dropped
// to make room: when it is above 0, they are in no figure from the log.
type Logged struct {
	Calls int64         `json:"calls"`
	From  time.Duration `json:"fromNs"`
	Lost  int64         `json:"lost"`
}

// Sent is the log by the callers' send time, for calls that have one. A window
// that is over the limit by arrival and not by sending is the upstream's own
// stall, or the network's. Transit is from sending to arrival.
type Sent struct {
	Calls   int64         `json:"calls"`
	Above   int           `json:"above"`
	Worst   window.Window `json:"worst"`
	Transit Quantiles     `json:"transit"`
}

// Stats reports. last is how far back it reads the log, which costs time and memory
// by the call; 0 is all of it. The other counts cost nothing.
func (u *Upstream) Stats(last time.Duration) Stats {
	s := u.gate.counts()
	s.DailyBudget, s.BodyBytes, s.Faults = u.cfg.DailyBudget, u.cfg.BodyBytes, u.rules.counts()
	after := s.Since - 1
	if last > 0 {
		after = max(after, s.Now-last)
	}
	u.addLog(&s, after)
	return s
}

// counts are the figures that are kept as calls arrive.
func (g *gate) counts() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Stats{
		Now: max(g.clock(), g.last), Since: g.since, Limit: g.limit,
		Calls: g.calls, Violations: g.violations, Worst: g.counter.Worst(), Bans: g.bans,
		Refused: g.refused, OverBudget: g.overBudget, Late: g.late,
		Classes: map[string]Class{}, Instances: map[string]int64{}, Statuses: maps.Clone(g.statuses),
		Queue: g.queue.quantiles(), Handler: g.handler.quantiles(), Log: Logged{Lost: g.log.lost},
	}
	if g.day == today() {
		s.Today = g.dayCalls
	}
	if g.bannedUntil > s.Now {
		s.BannedUntil = g.bannedUntil
	}
	for i, n := range g.classes {
		s.Classes[class(i).String()] = Class{Calls: n}
	}
	for i, n := range g.instances {
		if i > 0 { // no name
			s.Instances[g.log.names[i]] = n
		}
	}
	return s
}

// addLog adds the figures that need the log.
func (u *Upstream) addLog(s *Stats, after time.Duration) {
	var arrived, sent [classCount][]time.Duration
	var transit histogram
	_ = u.gate.read(after, func(records []record, _ []string) error { // the visit returns no error
		if s.Log.Calls == 0 {
			s.Log.From = records[0].arrival
		}
		s.Log.Calls += int64(len(records))
		for _, r := range records {
			arrived[r.class] = append(arrived[r.class], r.arrival)
			if r.sent > 0 {
				sent[r.class] = append(sent[r.class], r.sent)
				transit.add(r.arrival - r.sent)
			}
		}
		return nil
	})
	var all []time.Duration
	for i := range classCount {
		name := i.String()
		c := s.Classes[name]
		c.Worst = window.Worst(arrived[i], second)
		slices.Sort(sent[i])
		c.WorstSent = window.Worst(sent[i], second)
		s.Classes[name] = c
		all = append(all, sent[i]...)
	}
	slices.Sort(all)
	s.Sent = Sent{
		Calls: int64(len(all)), Above: window.Above(all, second, u.cfg.Limit),
		Worst: window.Worst(all, second), Transit: transit.quantiles(),
	}
}
