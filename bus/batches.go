package bus

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/internal/consuming"
)

// batching says how a subscription gathers messages; the zero value hands them
// out one by one.
type batching struct {
	size int
	wait time.Duration
}

func (b batching) on() bool { return b.size > 0 }

// batch is what is handed out at once: the first messages of one or more lanes,
// each lane's in order. Its deliveries belong to whoever handles it until answer.
type batch struct {
	sub        *subscription
	deliveries []*delivery
	ctx        context.Context
	cancel     context.CancelCauseFunc
	span       trace.Span // nil when none is made
	probe      bool
	epoch      int
}

// Group is the group that it was delivered to, "" where that is not known.
func (b *batch) Group() string { return b.sub.dispatcher.group }

// run is that of an attempt.
func (b *batch) run() { b.sub.dispatcher.handleBatch(b) }

// gather returns the batch that may be handed out now, or nil. It changes
// nothing but for messages that the transport took back.
func (s *subscription) gather(now time.Time) *batch {
	cfg := s.dispatcher.batch
	var taken []*delivery
	for taken == nil {
		switch {
		case s.pause.on:
			d := s.nextProbe(now)
			if d == nil {
				return nil
			}
			taken = []*delivery{d}
		case len(s.lanes.ready) == 0:
			return nil
		case s.lanes.available < cfg.size && !s.lanes.ready[0].queue[0].solo() && now.Before(s.fillUntil()):
			return nil
		default:
			taken = s.lanes.gather(cfg.size)
		}
		if s.dropRevoked(taken) {
			taken = nil
		}
	}
	for _, d := range taken {
		d.condemned = s.condemned(d, now)
		d.note(s.finished)
	}
	b := &batch{sub: s, deliveries: taken, probe: s.pause.on, epoch: s.epoch}
	b.ctx, b.cancel = context.WithCancelCause(consuming.With(s.ctx, b))
	return b
}

// fillUntil is when a batch that is not full goes out all the same.
func (s *subscription) fillUntil() time.Time {
	return s.lanes.ready[0].since.Add(s.dispatcher.batch.wait)
}

// dropRevoked drops what another instance has by now, or will be delivered anew.
func (s *subscription) dropRevoked(taken []*delivery) (any bool) {
	for _, d := range taken {
		if d.revoked() {
			d.from.Back()
			s.lanes.remove(d)
			any = true
		}
	}
	return any
}

// takeBatch notes that the batch is out.
func (s *subscription) takeBatch(b *batch) {
	s.lanes.takeAll(b.deliveries)
	if b.probe {
		s.probing(b.deliveries[0])
	}
	s.batched[b] = struct{}{}
	s.count(len(b.deliveries))
}

// settle acts on the verdicts of a batch that came back.
func (b *batch) settle() {
	s := b.sub
	b.cancel(nil)
	delete(s.batched, b)
	s.count(-len(b.deliveries))
	if b.probe {
		s.pause.probe = nil
	}
	another := !b.deliveries[0].blamed
	for _, d := range b.deliveries {
		if d.blamed = d.verdict == pauseAll; d.verdict == done {
			d.from.Done()
			s.finished++
		}
	}
	if s.stopping.Load() {
		// What is not done stays in its lane; end hands it back.
		for _, taken := range byLane(b.deliveries) {
			s.lanes.keep(taken, func(d *delivery) bool { return d.verdict != done })
		}
		return
	}
	var down *delivery
	revoked := 0
	for _, d := range b.deliveries {
		switch {
		case d.verdict == done:
		case d.revoked():
			d.from.Back()
			d.verdict = done
			revoked++
		case s.spare(d):
		case d.verdict == pauseAll && down == nil:
			down = d
		}
	}
	if down != nil && !s.pause.on && b.epoch != s.epoch {
		// It began before the last pause ended, so its failure is old news.
		down = nil
	}
	for _, taken := range byLane(b.deliveries) {
		s.putBack(taken, down != nil || s.pause.on)
	}
	switch {
	case down != nil:
		s.paused(down, b.probe)
	case b.probe && revoked < len(b.deliveries):
		s.resume(another)
	}
}

// putBack puts what is left of a busy lane where its first message belongs.
func (s *subscription) putBack(taken []*delivery, paused bool) {
	ln := taken[0].lane
	head := s.lanes.keep(taken, func(d *delivery) bool { return d.verdict != done })
	switch {
	case len(ln.queue) == 0:
		s.lanes.forget(ln)
	case head == nil:
		s.lanes.enlist(ln)
	case head.verdict == pauseAll || head.verdict == afterPause:
		if paused {
			s.lanes.wait(head)
		} else {
			s.lanes.again(head)
		}
	case head.verdict == retryLater && head.delay <= 0:
		s.lanes.again(head)
	case head.verdict == retryLater:
		s.lanes.park(head, time.Now().Add(head.delay))
	default:
		head.nacks++
		s.lanes.park(head, time.Now().Add(s.dispatcher.cfg.Redelivery.Delay(head.nacks)))
	}
}
