package bus

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
)

// fetch fills the window.
func (s *subscription) fetch() {
	defer close(s.fetched)
	for {
		ctx, cancel, room := s.mayFetch()
		if room <= 0 {
			select {
			case <-s.room:
				continue
			case <-s.fetching.Done():
				return
			}
		}
		deliveries, err := s.source.Fetch(ctx, room)
		ended := err != nil && ctx.Err() == nil
		cancel()
		s.add(deliveries)
		switch {
		case s.fetching.Err() != nil:
			return
		case ended:
			s.lostBy = err
			return
		}
	}
}

// mayFetch returns how many messages may be fetched now, and the context that limits the fetch.
// The fetch of a consumer without a gate is never interrupted: it needs no context of its own.
func (s *subscription) mayFetch() (ctx context.Context, cancel context.CancelFunc, room int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room = s.dispatcher.cfg.Window - s.lanes.held
	if s.gate == nil {
		return s.fetching, func() {}, room
	}
	if s.gate.held() {
		room = 0
	}
	ctx, cancel = context.WithCancel(s.fetching)
	if s.interrupt = cancel; room <= 0 {
		cancel()
	}
	return ctx, cancel, room
}

// watchGate interrupts the fetch when the gate closes, and resumes when it opens.
func (s *subscription) watchGate() {
	for {
		changed := s.gate.changed() // before reading the state of the gate
		s.mu.Lock()
		if !s.gate.held() {
			s.dispatch()
		} else if s.interrupt != nil {
			s.interrupt()
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-s.fetching.Done():
			return
		}
	}
}

func (s *subscription) makeRoom() {
	select {
	case s.room <- struct{}{}:
	default:
	}
}

// add queues the fetched messages.
func (s *subscription) add(deliveries []driver.Delivery) {
	if len(deliveries) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range deliveries {
		m := from.Message()
		d := &delivery{from: from, source: &message.Message{UUID: m.ID, Metadata: m.Metadata, Payload: m.Payload}, sub: s}
		s.lanes.add(event.Key(d.source), d)
	}
	s.dispatch()
}
