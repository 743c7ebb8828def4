package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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

	closing   chan struct{}
	closeOnce sync.Once
	ended     chan struct{} // closed when everything has ended
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
	g, err := d.topology.resolve(ctx, topic, name)
	if err != nil {
		return nil, translate("subscribe to "+topic, err)
	}
	s := newSource(ctx, d, g, size)
	expected := 0
	if g.held() {
		if expected, err = s.expect(ctx); err != nil {
			return nil, translate("subscribe to "+topic, err)
		}
	}
	d.mu.Lock()
	d.open[s] = struct{}{}
	d.mu.Unlock()
	go s.run()
	if expected > 0 {
		s.arrival(ctx)
	}
	return s, nil
}

func newSource(ctx context.Context, d *driver, g *group, size int) *source {
	s := &source{
		driver: d, group: g, prefetch: d.cfg.Prefetch, base: context.WithoutCancel(ctx),
		window: kit.NewWindow(size, (*session).kick), ready: kit.NewSignal(),
		closing: make(chan struct{}), ended: make(chan struct{}),
	}
	if g.held() {
		// The consumer of dead letters holds as many as it can. They have no order that
		// another prefetch could break.
		s.prefetch = min(size, maxPrefetch)
	}
	for _, q := range g.queues {
		s.lanes = append(s.lanes, &lane{source: s, queue: q, yield: kit.NewSignal(), arrived: make(chan struct{})})
	}
	return s
}

// Fetch is that of [busdriver.Source].
func (s *source) Fetch(ctx context.Context, most int) ([]busdriver.Delivery, error) {
	return busdriver.Fetch(ctx, s.ready, s.closing, bus.ErrClosed, func() []busdriver.Delivery { return s.collect(most) })
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
	// Opening channels and waiting end with Close.
	ctx, stop := context.WithCancel(s.base)
	defer stop()
	go func() {
		select {
		case <-s.closing:
			stop()
		case <-ctx.Done():
		}
	}()
	var running sync.WaitGroup
	for _, l := range s.lanes {
		running.Go(func() { l.run(ctx) })
	}
	if len(s.lanes) > 1 {
		running.Go(func() { s.balance(ctx) })
	}
	running.Wait()
}

// Close is that of [busdriver.Source]: it acknowledges finished messages and returns the
// rest to the queues. Further calls wait for the first.
func (s *source) Close() error {
	s.closeOnce.Do(func() { close(s.closing) })
	<-s.ended
	s.driver.mu.Lock()
	delete(s.driver.open, s)
	s.driver.mu.Unlock()
	return nil
}

// expect returns how many messages the only queue will deliver at once.
func (s *source) expect(ctx context.Context) (int, error) {
	a := &admin{ctx: ctx, link: s.driver.consuming}
	defer a.close()
	info, _, err := a.inspect(s.group.base)
	if err != nil || info.Consumers > 0 {
		return 0, err
	}
	s.lanes[0].expected = min(info.Messages, s.prefetch)
	return s.lanes[0].expected, nil
}

// arrival waits until the expected messages are here. On their way from the broker they are
// in no count, and a program that reads all dead letters would see none.
func (s *source) arrival(ctx context.Context) {
	t := time.NewTimer(quiet)
	defer t.Stop()
	select {
	case <-s.lanes[0].arrived:
	case <-t.C:
	case <-ctx.Done():
	case <-s.ended:
	}
}

var errLost = errors.New("the consumer was lost")
