package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// Run admits users from the lines of all events, and removes silent users, until the context
// ends. Run it in some process. Run it in several, and the store divides the work: no
// admission is missed when one of them ends. Run returns nil once the calls in flight have
// ended. Failures of the store are logged when they begin and when they end; a failed call
// is tried again in the next tick.
func (r *Room) Run(ctx context.Context) error { return (&admitter{room: r}).run(ctx) }

// admitter does the work of one Run.
type admitter struct{ room *Room }

// idlePace is how often a room is looked at in which no user waits, if Config.Tick is
// shorter. A line that begins in this process ends the pause; others notice it by then.
const idlePace = time.Second

func (a *admitter) run(ctx context.Context) error {
	rota := newRota()
	done := make(chan finished)
	running := 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for running < a.room.cfg.Concurrency && ctx.Err() == nil {
			duty := rota.take(a.room.now())
			if duty == nil {
				break
			}
			running++
			go func() { done <- a.work(ctx, duty) }()
		}
		if next, ok := rota.next(); ok && running < a.room.cfg.Concurrency {
			timer.Reset(max(0, next-a.room.now()))
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			for ; running > 0; running-- {
				<-done
			}
			return nil
		case f := <-done:
			running--
			rota.put(f, a.room.now())
		case event := <-a.room.begun:
			rota.hurry(event, a.room.now())
		case <-timer.C:
		}
	}
}

// work does a duty once.
func (a *admitter) work(ctx context.Context, d *duty) (f finished) {
	f = finished{duty: d, again: a.room.cfg.Tick}
	err := a.try(ctx, &f)
	a.room.turned(ctx, d.failing, err, "queue: the admitter cannot do its work, and goes on trying", "queue: the admitter works again",
		slog.String("duty", d.kind.String()), slog.String("event", d.of.event))
	d.failing = err != nil
	return f
}

// try returns a panic of the store as an error.
func (a *admitter) try(ctx context.Context, f *finished) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.room.counts.panics.Add(1)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	switch f.duty.kind {
	case listing:
		return a.list(ctx, f)
	case sweeping:
		return a.sweep(ctx, f)
	default:
		return a.admit(ctx, f)
	}
}

func (a *admitter) list(ctx context.Context, f *finished) (err error) {
	ctx, cancel := a.room.bounded(ctx)
	defer cancel()
	f.again = max(f.again, time.Second)
	a.room.counts.calls.Add(1)
	if f.events, err = a.room.store.Events(ctx); err != nil {
		a.room.counts.failed.Add(1)
		return err
	}
	f.listed = true
	return nil
}

// admit gives the turns of this tick.
func (a *admitter) admit(ctx context.Context, f *finished) error {
	began := a.room.now()
	l := a.room.line(f.duty.of.event, began)
	if a.room.cfg.Stock == nil {
		l.forgetStock(ctx)
	} else {
		l.restock(ctx)
	}
	asked := a.room.now() - began // in the next tick as well, so that it does not slow the pace
	// The store counts the rest of a tick; the bound here is for a store that does not.
	var turns []driver.Admitted
	defer func() {
		if s := l.state.Load(); s != nil {
			began := a.room.now()
			l.recorded(ctx, *s, turns)
			f.again = max(f.again-(a.room.now()-began), time.Millisecond)
		}
	}()
	for range a.room.cfg.Batch/driver.MaxChunk + 2 {
		start := a.room.now()
		admission, err := askFor(ctx, l, func(ctx context.Context) (driver.Admission, error) {
			return a.room.store.Admit(ctx, l.event, a.room.rules)
		})
		if err != nil {
			return err
		}
		l.learn(admission.State)
		l.follow(ctx, &admission.State)
		f.duty.of.watch.answered(start, admission.Now, patience(a.room.cfg.Tick))
		if due, again := drawDue(admission.State); due {
			return l.drawAll(ctx, f.duty.of.watch.wait(a.room.now(), patience(a.room.cfg.Tick)) == 0)
		} else if again > 0 {
			f.again = min(f.again, again)
			return nil
		}
		a.room.counts.admitted.Add(int64(len(admission.Admitted)))
		turns = append(turns, admission.Admitted...)
		for _, one := range admission.Admitted {
			a.room.notifyTurn(l.event, one.User, admission.State)
		}
		// The store sets the next tick. It counts from the beginning of the call, so
		// that the round trip does not slow the pace.
		if admission.Next > 0 {
			f.again = min(max(admission.Next-(a.room.now()-start)-asked, time.Millisecond), a.room.cfg.Tick)
		}
		if !admission.More || ctx.Err() != nil {
			break
		}
	}
	if s := l.state.Load(); s != nil && s.Waiting == 0 {
		f.again = max(f.again, idlePace)
	}
	return nil
}

// sweep makes one step, so that admissions run between the steps of a long line.
func (a *admitter) sweep(ctx context.Context, f *finished) error {
	if wait := f.duty.of.watch.wait(a.room.now(), patience(a.room.cfg.Tick)); wait > 0 {
		f.again = wait
		return nil
	}
	l := a.room.line(f.duty.of.event, a.room.now())
	if f.duty.from == 0 {
		l.compare(ctx, l.state.Load())
	}
	swept, err := l.sweep(ctx, a.room.rules, f.duty.from)
	if err != nil {
		return err
	}
	if f.again, f.duty.from = 0, swept.Next; swept.Done {
		// A little later than the store asks for, or every other sweep would come
		// just before its time.
		f.again, f.duty.from = a.room.cfg.SweepEvery+a.room.cfg.SweepEvery/32, 0
	}
	return nil
}

// sweep makes one step of a sweep, from a block on.
func (l *line) sweep(ctx context.Context, r driver.Rules, from int64) (driver.Swept, error) {
	swept, err := askFor(ctx, l, func(ctx context.Context) (driver.Swept, error) {
		swept, err := l.room.store.Sweep(ctx, l.event, r, from)
		if err == nil && !swept.Done && swept.Removed == 0 && swept.Next == from {
			err = errors.New("the sweep does not get on")
		}
		return swept, err
	})
	if err == nil {
		l.learn(swept.State)
	}
	return swept, err
}
