package sqsbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/fault"
)

// nackDelay is how long a returned message waits for its next delivery. The engine makes
// retries with longer pauses.
var nackDelay = kit.Backoff{Initial: 5 * time.Millisecond, Max: 100 * time.Millisecond}

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

	stop     chan struct{} // closed by Close: end the intake
	stopOnce sync.Once
	done     chan struct{} // closed after run
	ready    kit.Signal    // Fetch has something to look at
	room     kit.Signal    // poll may have room

	mu       sync.Mutex
	ended    bool                // the intake has ended
	waiting  []*taken            // received, to be handed over in this order
	returned []*taken            // returned, to be handed over again before those
	out      map[*taken]struct{} // handed over and not settled
	open     int                 // received and not settled
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
		stop: make(chan struct{}), done: make(chan struct{}),
		ready: kit.NewSignal(), room: kit.NewSignal(), out: make(map[*taken]struct{}),
	}
	s.keeper = newKeeper(s)
	go s.run()
	return s, nil
}

// Fetch is that of [busdriver.Source].
func (s *source) Fetch(ctx context.Context, most int) ([]busdriver.Delivery, error) {
	return busdriver.Fetch(ctx, s.ready, s.stop, bus.ErrClosed, func() []busdriver.Delivery { return s.collect(most) })
}

// collect takes the ready messages: returned ones come first, once their delay is over, and
// all others wait for them.
func (s *source) collect(most int) (all []busdriver.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for len(all) < most && !s.ended {
		var t *taken
		switch {
		case len(s.returned) > 0 && s.returned[0].due.After(now):
			return all
		case len(s.returned) > 0:
			t, s.returned = s.returned[0], s.returned[1:]
		case len(s.waiting) > 0:
			t, s.waiting = s.waiting[0], s.waiting[1:]
		default:
			return all
		}
		if t.left() <= 0 { // SQS may have given it to another consumer
			s.settle()
			s.keeper.forget(t)
			continue
		}
		s.out[t] = struct{}{}
		all = append(all, t)
	}
	return all
}

// run lasts until Close. It waits for a request for messages that is open then, so that the
// messages of its answer are handed back too.
func (s *source) run() {
	defer close(s.done)
	intake, cancel := context.WithCancel(s.base)
	defer cancel()
	var parts, kept sync.WaitGroup
	kept.Go(func() { s.keeper.run(s.base) })
	parts.Go(func() { s.poll(intake) })
	<-s.stop
	cancel()
	s.endIntake()
	parts.Wait()
	s.keeper.end()
	kept.Wait()
	s.driver.groups.leave(s.queue.topic)
}

// endIntake hands back all messages that are not settled.
func (s *source) endIntake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, t := range append(s.returned, s.waiting...) {
		s.handBack(t)
	}
	for t := range s.out {
		s.handBack(t)
	}
	s.returned, s.waiting = nil, nil
	clear(s.out)
}

// Close is that of [busdriver.Source]: it deletes acknowledged messages and hands the rest
// back. Further calls wait for the first.
func (s *source) Close() error {
	s.stopOnce.Do(func() { close(s.stop) })
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

// handBack lets SQS deliver the message again; s.mu is held.
func (s *source) handBack(t *taken) {
	s.settle()
	s.keeper.release(t)
}

// settle ends the handling of a message in this source; s.mu is held.
func (s *source) settle() {
	s.open--
	s.room.Send()
}
