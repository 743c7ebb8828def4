package amqpbus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/fault"
)

const (
	// maxCalls is the limit of concurrent calls of Publish; others wait.
	maxCalls = 64
	// maxUnconfirmed is how many messages a call sends ahead of the confirms.
	maxUnconfirmed = 1024
)

// publisher publishes with confirms.
type publisher struct {
	link  *link
	cfg   Config
	names naming

	slots chan struct{} // capacity maxCalls: held by calls in flight

	mu     sync.Mutex
	calls  sync.WaitGroup  // none is added after the end of ctx
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	channels channels
}

func newPublisher(l *link, cfg Config, names naming) *publisher {
	p := &publisher{link: l, cfg: cfg, names: names, slots: make(chan struct{}, maxCalls)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// outgoing is a message on its way.
type outgoing struct {
	key     string
	message amqp.Publishing
	call    *outcomes
	index   int // in the call
}

// outcomes are those of a call's messages, so far.
type outcomes struct {
	mu sync.Mutex
	of []busdriver.Outcome
}

// became sets the outcome of messages of one call.
func became(all []outgoing, o busdriver.Outcome) {
	call := all[0].call
	call.mu.Lock()
	defer call.mu.Unlock()
	for _, m := range all {
		call.of[m.index] = o
	}
}

// Publish returns when the broker has confirmed every message: each is in all the queues
// that accept it, written to disk there. Messages are sent in the given order on one
// channel, all before the first confirm is awaited, so per key they arrive in order.
//
// On an error some of the messages may have arrived, as the [bus.PublishError] reports:
// those of earlier rounds of 1,024 have, and unknown outcomes are all in one round.
func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	call := &outcomes{of: slices.Repeat([]busdriver.Outcome{busdriver.NotSent}, len(messages))}
	err := p.publish(topic, messages, call)
	if err == nil || len(messages) == 0 {
		return err
	}
	call.mu.Lock()
	now := slices.Clone(call.of)
	call.mu.Unlock()
	first := busdriver.Culprit(now)
	return &bus.PublishError{Topic: topic, Outcomes: now, First: first, ID: messages[first].UUID, Err: err}
}

// publish fills in the outcome of each message.
func (p *publisher) publish(topic string, messages []*message.Message, call *outcomes) error {
	if err := checkTopic(topic); err != nil {
		return fmt.Errorf("amqpbus: publish: %w", err)
	}
	p.mu.Lock()
	if p.ctx.Err() != nil {
		p.mu.Unlock()
		return errClosed
	}
	p.calls.Add(1)
	p.mu.Unlock()
	defer p.calls.Done()
	if len(messages) == 0 {
		return nil
	}
	// The messages of one call share their caller's context.
	ctx := messages[0].Context()
	all := make([]outgoing, len(messages))
	for i, m := range messages {
		encoded, err := encode(m)
		if err != nil {
			call.of[i] = busdriver.Refused
			return fmt.Errorf("amqpbus: publish: %w", err)
		}
		all[i] = outgoing{p.names.key(topic, m), encoded, call, i}
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return translate("publish", ctx.Err())
	}
	p.calls.Add(1)
	_, err := within(ctx, func() (none struct{}, err error) {
		defer p.calls.Done()
		defer func() { <-p.slots }()
		return none, p.deliver(ctx, topic, all)
	})
	return refusal(err)
}

// deliver publishes the messages of a call. After the end of ctx it sends no further one: the
// outcomes that Publish has returned by then stay true.
func (p *publisher) deliver(ctx context.Context, topic string, all []outgoing) error {
	if p.link.blocked.Load() {
		return errors.New("the broker takes no messages: its memory or disk is short")
	}
	alone := !small(all)
	ended, err := p.over(ctx, topic, all, alone)
	if ended && !alone {
		// The broker closed the channel for a mistake of one of the calls on it.
		_, err = p.over(ctx, topic, all, true)
	}
	return err
}

// refusal gives the error of a call its class.
func refusal(err error) error {
	switch {
	case errors.Is(err, errUnroutable):
		return fault.MarkTransient(err)
	case is(err, amqp.PreconditionFailed):
		// The broker closes the channel for a message that is too large.
		return fault.MarkPermanent(fmt.Errorf("amqpbus: publish: %w", err))
	}
	return translate("publish", err)
}

// over publishes all messages over one channel, and reports whether the broker closed that
// channel and kept the connection.
func (p *publisher) over(ctx context.Context, topic string, all []outgoing, alone bool) (ended bool, err error) {
	ch, err := p.take(ctx, alone)
	if err != nil {
		return false, err
	}
	for len(all) > 0 && err == nil {
		n := min(len(all), maxUnconfirmed)
		err = p.send(ctx, ch, topic, all[:n])
		all = all[n:]
	}
	ended = err != nil && ch.channel.IsClosed() && !ch.conn.IsClosed()
	p.put(ch, err)
	return ended, err
}

// send publishes the messages of one round of confirms.
func (p *publisher) send(ctx context.Context, ch *publishing, topic string, all []outgoing) error {
	became(all, busdriver.Unknown)
	returned, err := ch.publish(ctx, p.cfg.Prefix+p.cfg.Exchange, all, p.cfg.ConfirmTimeout)
	if err != nil {
		return err
	}
	became(all, busdriver.Published)
	if len(returned) == 0 {
		return nil
	}
	became(returned, busdriver.Unknown)
	// No group accepts these. The topic may have a holding queue: the default exchange
	// routes to a queue by its name.
	for i := range returned {
		returned[i].key = p.names.holding(topic)
	}
	held := returned
	if returned, err = ch.publish(ctx, amqp.DefaultExchange, held, p.cfg.ConfirmTimeout); err != nil {
		return err
	}
	became(held, busdriver.Published)
	if len(returned) > 0 {
		became(returned, busdriver.Refused)
		return fmt.Errorf("%w: topic %s, event type %q; declare the topic with its groups, or without any to hold what nobody takes (%d messages)",
			errUnroutable, topic, returned[0].message.Type, len(returned))
	}
	return nil
}

// take returns a channel with room for a call, or opens one. It retries for as long as a
// connection may take.
func (p *publisher) take(ctx context.Context, alone bool) (*publishing, error) {
	if ch := p.channels.take(alone); ch != nil {
		return ch, nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ConnectTimeout)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	for attempt := 1; ; attempt++ {
		conn, err := p.link.connection(ctx)
		if err == nil {
			var ch *publishing
			if ch, err = p.channels.open(conn, alone, p.link.cut); err == nil {
				return ch, nil
			}
		}
		if errors.Is(err, errClosed) || p.ctx.Err() != nil {
			return nil, errClosed
		}
		if serr := kit.Sleep(ctx, retry.Delay(attempt)); serr != nil {
			return nil, err
		}
	}
}

// retry is the wait before connecting again. It stays short: a broker that restarts should
// be in use as soon as it answers, and all waiting callers share one attempt.
var retry = kit.Backoff{Initial: 25 * time.Millisecond, Max: 500 * time.Millisecond, Jitter: 0.2}

// put returns a channel. After an error its state is unknown: it takes no further call, and
// is closed when its last call has ended.
func (p *publisher) put(ch *publishing, err error) {
	if errors.Is(err, errUnroutable) {
		err = nil
	}
	if p.channels.put(ch, err != nil) {
		// The caller has waited long enough.
		p.calls.Go(ch.discard)
	}
}

// Close refuses new calls and waits for those in flight.
func (p *publisher) Close() error {
	p.mu.Lock()
	p.cancel()
	p.mu.Unlock()
	p.calls.Wait()
	return p.link.close()
}
