package ops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/bus"
)

// flow is what is on its way: in the outbox, on the topics, and given up.
type flow struct {
	backlog, parked int
	oldest          time.Time
	holder          string
	lag             map[[2]string]bus.Lag // by topic and group
	waiting         int                   // messages not yet handled, over all groups
	lagKnown        bool
	dead            []deadLetters
	deadCount       int
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
		if l.Messages > 0 {
			cons = append(cons, fmt.Sprintf("%d messages of %s wait for %s", l.Messages, id[0], id[1]))
		}
	}
	for _, d := range f.dead {
		if d.Count > 0 {
			dead = append(dead, fmt.Sprintf("%d in %s", d.Count, d.Topic))
		}
	}
	known := ""
	if !f.lagKnown {
		known = "this transport cannot tell"
	}
	return []Check{
		check("outbox-drained", "", out), check("consumers-drained", known, cons), check("no-dead-letters", "", dead),
	}
}

func (o *Ops) flow(ctx context.Context) (flow, error) {
	f := flow{lag: map[[2]string]bus.Lag{}}
	shards, err := o.cfg.Outbox.Stats(ctx)
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
	lags, err := o.cfg.Bus.Lag(ctx)
	f.lagKnown = err == nil
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return f, fmt.Errorf("ops: lag: %w", err)
	}
	wanted := map[[2]string]bool{}
	for _, c := range o.cfg.Consumers {
		wanted[[2]string{c.Topic, c.Group}] = true
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
		f.waiting += l.Messages
	}
	if f.dead, err = o.countDead(ctx, lags); err != nil {
		return f, err
	}
	for _, d := range f.dead {
		f.deadCount += d.Count
	}
	return f, nil
}
