package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
)

// source is one member of a group on one topic: a lane for each queue of the group. Each
// lane receives messages from the broker, up to the prefetch; Fetch hands them over, up to
// the window.
type source struct {
	driver   *driver
	group    *group
	lanes    []*lane
	prefetch int
	base     context.Context // its values are passed to the deliveries
	window   *kit.Window[*session]
	ready    kit.Signal // a lane has something to hand over
	turn     int        // the lane that Fetch begins with

	life  context.Context // ends with Close: so do opening channels and waiting
	end   context.CancelFunc
	begin func()        // starts to consume, once
	ended chan struct{} // closed when everything has ended
}

// Source implements busdriver.Driver. If the group was not declared, its queues are created now,
// and receive the messages that are published from now on.
func (d *driver) Source(ctx context.Context, topic, name string, size int) (busdriver.Source, error) {
	if name == "" {
		return nil, errors.New("amqpbus: subscribe: the group has no name")
	}
	if size < 1 {
		return nil, fmt.Errorf("amqpbus: subscribe: the window is %d; give at least 1", size)
	}
	g, err := within(ctx, func() (*group, error) { return d.topology.resolve(ctx, topic, name) })
	if err != nil {
		return nil, translate("subscribe to "+topic, err)
	}
	s := newSource(ctx, d, g, size)
	d.open.Store(s, nil)
	if !g.held() {
		s.begin()
	}
	return s, nil
}

func newSource(ctx context.Context, d *driver, g *group, size int) *source {
	s := &source{
		driver: d, group: g, prefetch: d.cfg.Prefetch, base: context.WithoutCancel(ctx),
		window: kit.NewWindow(size, (*session).kick), ready: kit.NewSignal(),
		ended: make(chan struct{}),
	}
	s.life, s.end = context.WithCancel(s.base)
	s.begin = sync.OnceFunc(func() { go s.run() })
	if g.held() {
		// The consumer of dead letters holds as many as it can. They have no order that
		// another prefetch could break.
		s.prefetch = min(size, maxPrefetch)
	}
	for _, q := range g.queues {
		s.lanes = append(s.lanes, &lane{source: s, queue: q, yield: kit.NewSignal()})
	}
	return s
}

// Fetch is that of [busdriver.Source]. The first one starts to consume dead letters: on their way
// from the broker they are in no count, and a program that reads all of them counts them before.
func (s *source) Fetch(ctx context.Context, most int) ([]busdriver.Delivery, error) {
	s.begin()
	return busdriver.Fetch(ctx, s.ready, s.life.Done(), bus.ErrClosed, func() []busdriver.Delivery { return s.collect(most) })
}

// collect takes the ready messages of the lanes, and begins with another lane each time.
func (s *source) collect(most int) (all []busdriver.Delivery) {
	s.turn++
	for i := range s.lanes {
		if session := s.lanes[(s.turn+i)%len(s.lanes)].session.Load(); session != nil && len(all) < most {
			all = session.hand(all, most)
		}
	}
	return all
}

// run lasts until Close.
func (s *source) run() {
	defer close(s.ended)
	var running sync.WaitGroup
	for _, l := range s.lanes {
		running.Go(func() { l.run(s.life) })
	}
	if len(s.lanes) > 1 {
		running.Go(func() { s.balance(s.life) })
	}
	running.Wait()
}

// Close is that of [busdriver.Source]: it acknowledges finished messages and returns the
// rest to the queues. Further calls wait for the first.
func (s *source) Close() error {
	s.end()
	s.begin() // or run would not end
	<-s.ended
	s.driver.open.Delete(s)
	return nil
}

var errLost = errors.New("the consumer was lost")
