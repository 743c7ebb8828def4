package ops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/outbox/driver"
)

// flow has the pending messages of the outbox and the topics, and the dead letters.
type flow struct {
	backlog, parked int
	oldest          time.Time
	holder          string
	lag             map[[2]string]bus.Lag // by topic and group
	apart           map[[2]string]bool    // of those, the groups that are no part of the books
	waiting         int                   // messages not yet handled, over all groups of the books
	lagState        lagReport
	dead            []deadLetters
}

func (f flow) quiet() bool { return f.backlog == 0 && f.waiting == 0 }

func (f flow) checks() []Check {
	var out, cons, dead []string
	if f.backlog > 0 {
		out = append(out, fmt.Sprintf("%d events wait", f.backlog))
	}
	if f.parked > 0 {
		out = append(out, fmt.Sprintf("%d events were parked", f.parked))
	}
	for id, l := range f.lag {
		if l.Messages > 0 && !f.apart[id] {
			cons = append(cons, fmt.Sprintf("%d messages of %s wait for %s", l.Messages, id[0], id[1]))
		}
	}
	for _, d := range f.dead {
		if d.Count > 0 && !d.Apart {
			dead = append(dead, fmt.Sprintf("%d in %s", d.Count, d.Topic))
		}
	}
	known := ""
	if !f.lagState.known() {
		known = "this transport cannot tell"
	}
	return []Check{
		check("outbox-drained", "", out), check("consumers-drained", known, cons), check("no-dead-letters", "", dead),
	}
}

// traffic reads the flow from the outbox and the transport.
type traffic struct {
	outbox    driver.Inspector
	bus       *bus.Bus
	consumers []Consumer
	lags      *bus.LagMonitor
	letters   *Letters
}

// recent asks the database alone: the transport's last answer is in memory.
func (t *traffic) recent(ctx context.Context) (flow, error) {
	f, err := t.pending(ctx)
	if err != nil {
		return f, err
	}
	seen := t.lags.Snapshot()
	f.addLags(t.consumers, seen.Lags)
	f.lagState = lagStateOf(seen)
	f.dead = t.letters.recent(seen)
	return f, nil
}

// now asks the transport too, and waits for its answer.
func (t *traffic) now(ctx context.Context) (flow, error) {
	f, err := t.pending(ctx)
	if err != nil {
		return f, err
	}
	lags, err := t.bus.Lag(ctx)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return f, fmt.Errorf("ops: lag: %w", err)
	}
	f.lagState = lagStateOf(bus.LagSnapshot{Lags: lags, Known: err == nil, Stale: err != nil, Err: err})
	f.addLags(t.consumers, lags)
	f.dead, err = t.letters.now(ctx, lags)
	return f, err
}

// pending is the flow of the outbox.
func (t *traffic) pending(ctx context.Context) (flow, error) {
	f := flow{lag: map[[2]string]bus.Lag{}, apart: map[[2]string]bool{}}
	shards, err := t.outbox.Stats(ctx)
	if err != nil {
		return f, fmt.Errorf("ops: outbox: %w", err)
	}
	for _, s := range shards {
		f.backlog += s.Backlog
		f.parked += s.Parked
		if !s.Oldest.IsZero() && (f.oldest.IsZero() || s.Oldest.Before(f.oldest)) {
			f.oldest = s.Oldest
		}
		if s.Holder != "" {
			f.holder = s.Holder
		}
	}
	return f, nil
}

// addLags adds how far the consumers are behind; a transport also knows groups that
// are not ours.
func (f *flow) addLags(consumers []Consumer, lags []bus.Lag) {
	wanted := map[[2]string]bool{}
	for _, c := range consumers {
		wanted[c.id()] = true
		if c.Apart {
			f.apart[c.id()] = true
		}
	}
	for _, l := range lags {
		id := [2]string{l.Topic, l.Group}
		if !wanted[id] {
			continue
		}
		sum := f.lag[id]
		sum.Messages += l.Messages
		if sum.Oldest.IsZero() || !l.Oldest.IsZero() && l.Oldest.Before(sum.Oldest) {
			sum.Oldest = l.Oldest
		}
		f.lag[id] = sum
		if !f.apart[id] {
			f.waiting += l.Messages
		}
	}
}
