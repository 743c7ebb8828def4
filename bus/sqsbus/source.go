package sqsbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/fault"
)

// source is one reader of a queue. Its parts:
//
//	poll      receives messages while there is room in the window
//	Fetch     hands them over, in order
//	keeper    deletes acknowledged messages, hands back the rest, extends the
//	          time for which SQS leaves them to this source
//
// A FIFO queue keeps the order: while this source has messages of a key, no consumer
// receives others of that key.
type source struct {
	driver *driver
	queue  queue
	group  string
	size   int // of the window
	log    *slog.Logger
	base   context.Context // its values are passed to the deliveries
	keeper *keeper

	intake context.Context // ends with Close
	stop   context.CancelFunc
	done   chan struct{} // closed after run
	ready  kit.Signal    // Fetch has something to look at
	room   kit.Signal    // poll may have room

	mu       sync.Mutex
	received int                 // how many messages, so far
	waiting  []*taken            // to be handed over, in the order they were received
	out      map[*taken]struct{} // handed over and not settled
	err      error
}

// Source implements busdriver.Driver.
func (d *driver) Source(ctx context.Context, topic, group string, size int) (busdriver.Source, error) {
	if size < 1 {
		return nil, fault.MarkPermanent(fmt.Errorf("sqsbus: the window of group %s is %d; give at least 1", group, size))
	}
	q, err := d.queues.get(ctx, topic, group)
	if err != nil {
		return nil, translate("subscribe to "+topic, err)
	}
	if err := d.groups.join(topic, group); err != nil {
		return nil, translate("subscribe to "+topic, err)
	}
	s := &source{
		driver: d, queue: q, group: group, size: size, base: context.WithoutCancel(ctx),
		log:  d.cfg.Logger.With(slog.String("topic", topic), slog.String("group", group)),
		done: make(chan struct{}), ready: kit.NewSignal(), room: kit.NewSignal(), out: make(map[*taken]struct{}),
	}
	s.intake, s.stop = context.WithCancel(s.base)
	s.keeper = newKeeper(s)
	go s.run()
	return s, nil
}

// Fetch is that of [busdriver.Source].
func (s *source) Fetch(ctx context.Context, most int) ([]busdriver.Delivery, error) {
	return busdriver.Fetch(ctx, s.ready, s.intake.Done(), bus.ErrClosed, func() []busdriver.Delivery { return s.collect(most) })
}

// collect takes the next messages.
func (s *source) collect(most int) (all []busdriver.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(all) < most && len(s.waiting) > 0 {
		t := s.waiting[0]
		s.waiting = s.waiting[1:]
		if t.left() <= 0 { // SQS may have given it to another consumer
			s.lost(t)
			continue
		}
		s.out[t] = struct{}{}
		all = append(all, t)
	}
	return all
}

// drop forgets a message, and reports whether it was not settled. s.mu is held, here and below.
func (s *source) drop(t *taken) bool {
	n := len(s.waiting) + len(s.out)
	s.waiting = slices.DeleteFunc(s.waiting, func(other *taken) bool { return other == t })
	delete(s.out, t)
	return len(s.waiting)+len(s.out) < n
}

// lost ends a dropped message. Later ones of its key are handed back: SQS delivers it again
// when no message of its key is held, and it comes first then.
func (s *source) lost(t *taken) {
	s.keeper.forget(t)
	s.room.Send()
	if s.driver.cfg.Standard {
		return
	}
	for _, later := range slices.AppendSeq(slices.Clone(s.waiting), maps.Keys(s.out)) {
		if later.key != t.key || later.number < t.number {
			continue
		}
		s.drop(later)
		if later.left() > 0 {
			s.keeper.release(later)
		} else {
			s.keeper.forget(later)
		}
		later.revoke(busdriver.ErrRevoked)
	}
}

// run lasts until Close. It waits for a request for messages that is open then, so that the
// messages of its answer are handed back too.
func (s *source) run() {
	defer close(s.done)
	var polls, extending sync.WaitGroup
	go s.keeper.run()
	extending.Go(func() { s.keeper.extendRegularly(s.intake) })
	polls.Go(func() { s.poll(s.intake) })
	<-s.intake.Done()
	extending.Wait() // a message that is handed back must not be extended after that
	s.endIntake()
	polls.Wait()
	s.keeper.end()
	s.driver.groups.leave(s.queue.topic, s.group)
}

// endIntake hands back all messages that are not settled.
func (s *source) endIntake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.waiting {
		s.keeper.release(t)
	}
	for t := range s.out {
		s.keeper.release(t)
	}
	s.waiting = nil
	clear(s.out)
}

// Close is that of [busdriver.Source]: it deletes acknowledged messages and hands the rest
// back. Further calls wait for the first.
func (s *source) Close() error {
	s.stop()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	return translate("close", s.err)
}

// failed notes an error of Close.
func (s *source) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = errors.Join(s.err, err)
}
