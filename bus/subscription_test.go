package bus

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// nothing is a source that has no messages.
type nothing struct{}

func (nothing) Subscribe(context.Context, string) (<-chan *message.Message, error) { return nil, nil }
func (nothing) Close() error                                                       { return nil }

// What was answered at the very end of the drain timeout, when nobody takes the
// answer any more, is acknowledged and not in flight.
func TestEndCountsWhatWasAnswered(t *testing.T) {
	var inFlight atomic.Int64
	d := newDispatcher(nil, SubscriberConfig{}.withDefaults(), observer{inFlight: &inFlight})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := newSubscription(d, nothing{}, cancel)
	answers := []func(*message.Message) bool{(*message.Message).Ack, (*message.Message).Nack, func(*message.Message) bool { return true }}
	var sources []*message.Message
	for i, answer := range answers {
		m := message.NewMessage("", nil)
		m.SetContext(ctx)
		sources = append(sources, m)
		s.lanes.add(string(rune('a'+i)), &delivery{source: m, sub: s})
		next := s.next(time.Now())
		answer(next.offer())
		s.handOut(next)
	}
	if n := inFlight.Load(); n != 3 {
		t.Fatalf("%d messages are in flight, want 3", n)
	}
	s.stop()
	in := make(chan *message.Message)
	close(in)
	s.end(in)
	if n := inFlight.Load(); n != 0 {
		t.Errorf("%d messages are in flight after the end", n)
	}
	for i, answered := range []<-chan struct{}{sources[0].Acked(), sources[1].Nacked(), sources[2].Nacked()} {
		if !isClosed(answered) {
			t.Errorf("the source saw no answer, or the wrong one, to message %d", i)
		}
	}
}
