package bus

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/internal/consuming"
)

// batching configures the batches of a subscription. With the zero value, messages are handed
// out singly.
type batching struct {
	size int
	wait time.Duration
}

func (b batching) on() bool { return b.size > 0 }

// batch is a group of messages handed out at once: the first messages of one or more lanes, each
// lane's in order. Until answer, the handling goroutine owns its deliveries.
type batch struct {
	sub        *subscription
	deliveries []*delivery
	ctx        context.Context
	cancel     context.CancelCauseFunc
	span       trace.Span // nil when no span is made
	probe      bool
	epoch      int
}

// Group returns the consumer group of the batch.
func (b *batch) Group() string { return b.sub.dispatcher.consumer.Group }

// run runs an attempt of the batch.
func (b *batch) run() { b.sub.dispatcher.consumer.runAll(b) }

// gather returns the batch that may be handed out now, or nil. Its only side effect is to drop
// messages that the transport took back.
func (s *subscription) gather(now time.Time) *batch {
	cfg := s.dispatcher.consumer.batch
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

// fillUntil is the time at which a batch that is not full is handed out anyway.
func (s *subscription) fillUntil() time.Time {
	return s.lanes.ready[0].since.Add(s.dispatcher.consumer.batch.wait)
}

// dropRevoked drops messages that the transport took back: another instance has them, or they
// will be redelivered.
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

// takeBatch records that the batch is out.
func (s *subscription) takeBatch(b *batch) {
	s.lanes.takeAll(b.deliveries)
	if b.probe {
		s.pause.probe = b.deliveries[0]
	}
	s.batched[b] = struct{}{}
	s.count(len(b.deliveries))
}

// settle acts on the verdicts of a batch that is finished.
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
		// Messages that are not done stay in their lane; end hands them back.
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
		// The batch began before the last pause ended, so its failure is outdated.
		down = nil
	}
	for _, taken := range byLane(b.deliveries) {
		s.putBack(taken, down != nil || s.pause.on)
	}
	switch {
	case down != nil:
		s.paused(down, b.probe, another)
	case b.probe && revoked == 0:
		s.resume(b.deliveries[0], another)
	}
}

// putBack puts the remaining messages of a busy lane back in the order of arrival.
func (s *subscription) putBack(taken []*delivery, paused bool) {
	ln := taken[0].lane
	head := s.lanes.keep(taken, func(d *delivery) bool { return d.verdict != done })
	switch {
	case len(ln.queue) == 0:
		s.lanes.forget(ln)
	case head == nil:
		s.lanes.enlist(ln)
	default:
		s.postpone(head, paused)
	}
}
