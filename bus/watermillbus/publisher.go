package watermillbus

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
)

// lanes is how many messages of a call are in flight at once. Watermill's publishers send one
// message and wait for its answer; messages of different keys need not wait for each other.
const lanes = 16

// publisher publishes with the Pub/Sub's publisher, one message per call: the error of a call
// does not tell which of its messages are published.
type publisher struct{ *adapter }

// Publish implements message.Publisher.
func (p publisher) Publish(topic string, messages ...*message.Message) error {
	outcomes, errs := make([]driver.Outcome, len(messages)), make([]error, len(messages))
	var wg sync.WaitGroup
	for _, lane := range byKey(messages) {
		wg.Go(func() {
			for n, i := range lane {
				if outcomes[i], errs[i] = p.one(topic, messages[i]); errs[i] != nil {
					for _, later := range lane[n+1:] {
						outcomes[later] = driver.NotSent
					}
					return
				}
			}
		})
	}
	wg.Wait()
	if !slices.ContainsFunc(outcomes, func(o driver.Outcome) bool { return o != driver.Published }) {
		return nil
	}
	first := driver.Culprit(outcomes)
	return &bus.PublishError{Topic: topic, Outcomes: outcomes, First: first, ID: messages[first].UUID, Err: errs[first]}
}

// byKey distributes the messages, by index, so that those of a key are in one lane.
func byKey(messages []*message.Message) [][]int {
	all := make([][]int, lanes)
	for i, m := range messages {
		lane := log.LaneOf(event.Key(m), lanes)
		all[lane] = append(all[lane], i)
	}
	return slices.DeleteFunc(all, func(lane []int) bool { return len(lane) == 0 })
}

// one publishes a message.
func (p publisher) one(topic string, m *message.Message) (driver.Outcome, error) {
	ctx := m.Context()
	inner, err := p.publisher.Get(ctx)
	if err != nil {
		return driver.NotSent, p.judge(err)
	}
	m = m.CopyWithContext() // some adapters write into the metadata of the message
	if ctx.Done() != nil {  // and may read it after the call has returned
		m.Payload = slices.Clone(m.Payload)
	}
	_, err = call(ctx, p.adapter, func(context.Context) (none struct{}, err error) { return none, inner.Publish(topic, m) }, nil)
	outcome := driver.Unknown
	var before notCalled
	switch err = p.judge(err); {
	case err == nil:
		outcome = driver.Published
	case errors.As(err, &before):
		outcome = driver.NotSent
	case fault.Of(err) == fault.Permanent:
		outcome = driver.Refused
	}
	return outcome, err
}

// Close does nothing: the publisher belongs to the driver.
func (publisher) Close() error { return nil }
