package outbox

import (
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/outbox/driver"
)

// A lasting failure is logged at once, and then after 1, 2, 4 … minutes, so that an outage of a
// weekend fills no disk.
const (
	retellAfter = time.Minute
	retellMost  = time.Hour
)

// reporter logs lasting failures. It belongs to one goroutine.
type reporter struct {
	log     *slog.Logger
	lasting map[string]*trouble // by the line's text
}

type trouble struct {
	since, next time.Time
	wait        time.Duration
}

func newReporter(log *slog.Logger) reporter {
	return reporter{log: log, lasting: map[string]*trouble{}}
}

// failing logs a line, unless it was logged a short while ago.
func (r *reporter) failing(text string, args ...any) {
	now := time.Now()
	t := r.lasting[text]
	if t == nil {
		t = &trouble{since: now, next: now, wait: retellAfter}
		r.lasting[text] = t
	}
	if t.next.After(now) {
		return
	}
	r.log.Error(text, append(args, "since", t.since)...)
	t.next, t.wait = now.Add(t.wait), min(2*t.wait, retellMost)
}

// over logs the end of failures, if any of their lines was logged.
func (r *reporter) over(end string, shard int, texts ...string) {
	var since time.Time
	for _, text := range texts {
		if t := r.lasting[text]; t != nil {
			since = earliest(since, t.since)
			delete(r.lasting, text)
		}
	}
	if !since.IsZero() {
		r.log.Info(end, "shard", shard, "after", time.Since(since))
	}
}

// The lines that repeat.
const (
	storeFails         = "outbox: the store fails; trying again"
	renewalFails       = "outbox: renewing the lease failed; trying again"
	settlementFails    = "outbox: cannot settle what was published; trying again"
	leaseFails         = "outbox: cannot take the lease; trying again"
	publisherAway      = "outbox: the publisher is unreachable; pausing"
	nothingGetsThrough = "outbox: nothing gets through; trying on with a few events"
)

// storeWorks is called after an answer of the store.
func (s *shard) storeWorks() {
	if len(s.report.lasting) > 0 {
		s.report.over("outbox: the store answers again", s.id, storeFails, renewalFails, settlementFails, leaseFails)
	}
}

func (s *shard) publisherWorks() {
	s.report.over("outbox: events get through again", s.id, publisherAway, nothingGetsThrough)
}

// tell logs an event's first failure if the failure is the event's own, because other events
// were published. If the publisher accepts no events at all, one line covers all of them, see
// nothingGetsThrough.
func (s *shard) tell(it *driver.Item, f *failure, wait time.Duration) {
	if !f.others || f.last.told {
		return
	}
	f.last.told = true
	s.r.cfg.Logger.Warn("outbox: an event fails; trying it again", "shard", s.id, "topic", it.Topic, loggedAs(it),
		"attempts", it.Attempts, "in", wait, "error", f.err)
}
