package bus

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
)

// one is a delivery that records how it was settled.
type one struct {
	id         string
	done, back bool
}

func (o *one) Message() driver.Message {
	return driver.Message{ID: o.id, Metadata: map[string]string{event.KeyHeader: o.id}}
}
func (o *one) Context() context.Context { return context.Background() }
func (o *one) Done()                    { o.done = true }
func (o *one) Back()                    { o.back = true }

// list is a source of a few messages.
type list struct {
	deliveries []driver.Delivery
	closed     func()
}

func (l *list) Fetch(ctx context.Context, _ int) ([]driver.Delivery, error) {
	if all := l.deliveries; all != nil {
		l.deliveries = nil
		return all, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (l *list) Close() error {
	l.closed()
	return nil
}

// Messages answered at the very end of the drain timeout are acknowledged before the source is
// closed, and no message is in flight afterwards.
func TestEndCountsWhatWasAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &consumer{}
		d := newDispatcher(&Bus{}, SubscriberConfig{}.withDefaults(), c)
		all := []*one{{id: "acked"}, {id: "nacked"}, {id: "open"}}
		source := &list{}
		for _, o := range all {
			source.deliveries = append(source.deliveries, o)
		}
		out := map[string]*message.Message{}
		source.closed = func() {
			if !all[0].done || all[1].back || out["open"].Context().Err() != nil {
				t.Errorf("when the source is closed: acked %+v, nacked %+v, open %v", all[0], all[1], out["open"].Context().Err())
			}
		}
		s := newSubscription(t.Context(), d, source)
		go s.run(t.Context())
		for range all {
			m := <-s.out
			out[m.UUID] = m
		}
		require.EqualValues(t, 3, c.inFlight.Load(), "messages are in flight")
		synctest.Wait()
		out["acked"].Ack()
		out["nacked"].Nack()
		assert.NoError(t, d.Close())
		<-s.done
		assert.EqualValues(t, 0, c.inFlight.Load(), "messages are in flight after the end")
		if all[0].back || !all[1].back || !all[2].back || all[1].done || all[2].done || out["open"].Context().Err() == nil {
			t.Errorf("acked %+v, nacked %+v, open %+v", all[0], all[1], all[2])
		}
	})
}
