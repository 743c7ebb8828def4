package kafkabus

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/prefix"
)

// claim hands over the messages of one partition while the group gives it to
// us. One goroutine, run, owns all of its state; every message that is out has a
// second one that watches it.
type claim struct {
	sub     *subscription
	session sarama.ConsumerGroupSession
	from    sarama.ConsumerGroupClaim

	kicked   chan struct{} // capacity 1: the window may have room
	outcomes chan outcome
	over     chan struct{} // closed when watchers may stop waiting
	watchers sync.WaitGroup

	ahead   []*sarama.ConsumerMessage // fetched and not handed over
	paused  bool                      // fetching is
	prefix  prefix.Tracker[int64]     // of offsets
	done    map[int64]struct{}        // that an earlier owner finished; not yet met
	next    *delivery                 // made of ahead[0], holds a place of the window
	flying  map[*delivery]struct{}    // handed over and not settled
	refused []*delivery               // to be handed over again, in log order
}

// delivery is one record on its way to an acknowledgement.
type delivery struct {
	record *sarama.ConsumerMessage
	seq    int64
	nacks  int
	due    time.Time // after a nack: when to hand it over again
	msg    *message.Message
	cancel context.CancelFunc
}

type outcome struct {
	*delivery
	acked bool
}

// Fetching pauses while more than this is waiting in memory; a fetch that is
// under way may add up to a megabyte.
const maxAhead = 1024

// nackDelay is how long a refused message waits for its next delivery. Retries
// with longer pauses are the business of the consumer, who then does not nack.
var nackDelay = backoff.Policy{Initial: 5 * time.Millisecond, Max: 100 * time.Millisecond}

func newClaim(s *subscription, session sarama.ConsumerGroupSession, from sarama.ConsumerGroupClaim) *claim {
	return &claim{
		sub: s, session: session, from: from,
		kicked: make(chan struct{}, 1), outcomes: make(chan outcome), over: make(chan struct{}),
		flying: map[*delivery]struct{}{}, done: s.left(from),
	}
}

// kick makes the claim look again.
func (c *claim) kick() {
	select {
	case c.kicked <- struct{}{}:
	default:
	}
}

// run returns when the partition can be let go.
func (c *claim) run() {
	c.sub.window.Join(c)
	defer c.sub.window.Leave(c)
	if c.sub.enter() {
		c.take()
		c.sub.senders.Done()
	}
	c.settle()
	c.end()
}

// take hands over until the intake or the claim ends. The claim's channel is
// always read, because its end is how a partition is taken away.
func (c *claim) take() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		d, wait := c.ready()
		var out chan<- *message.Message
		var msg *message.Message
		if d != nil {
			out, msg = c.sub.out, d.msg
		}
		if wait > 0 {
			timer.Reset(wait)
		}
		select {
		case r, ok := <-c.from.Messages():
			if !ok {
				return
			}
			c.sub.recovered()
			c.ahead = append(c.ahead, r)
			c.pace()
		case out <- msg:
			c.handedOver(d)
		case o := <-c.outcomes:
			c.settled(o)
		case <-timer.C:
		case <-c.kicked:
		case <-c.session.Context().Done():
			return
		case <-c.sub.stopped:
			return
		}
	}
}

// ready returns what can be handed over now, or how long a refused message still
// has to wait: what is behind it waits, too.
func (c *claim) ready() (*delivery, time.Duration) {
	if len(c.refused) > 0 {
		d := c.refused[0]
		if wait := time.Until(d.due); wait > 0 {
			return nil, wait
		}
		if d.msg == nil {
			c.compose(d)
		}
		return d, 0
	}
	c.skip()
	if c.next == nil && len(c.ahead) > 0 && c.prefix.Span() < c.sub.span && c.sub.window.Take(c, 1) > 0 {
		c.next = &delivery{record: c.ahead[0]}
		c.compose(c.next)
	}
	return c.next, 0
}

// skip passes over what an earlier owner has finished.
func (c *claim) skip() {
	for c.next == nil && len(c.ahead) > 0 {
		offset := c.ahead[0].Offset
		if _, done := c.done[offset]; !done {
			return
		}
		delete(c.done, offset)
		c.ahead[0] = nil
		c.ahead = c.ahead[1:]
		c.pace()
		c.finish(c.prefix.Add(offset))
	}
}

// compose makes the message of a delivery. Its context outlives the intake.
func (c *claim) compose(d *delivery) {
	d.msg = decode(d.record.Key, d.record.Headers, d.record.Value)
	ctx, cancel := context.WithCancel(c.sub.values)
	d.msg.SetContext(claimContext{ctx, c.over})
	d.cancel = cancel
}

// claimContext ends with its claim, along with all others of it. Cancelling
// their contexts takes a while and has no order; meanwhile a later message of a
// key could be handled in place of one that has just been taken away.
type claimContext struct {
	context.Context
	over <-chan struct{}
}

func (c claimContext) Err() error {
	select {
	case <-c.over:
		return context.Canceled
	default:
		return c.Context.Err()
	}
}

func (c *claim) handedOver(d *delivery) {
	if d == c.next {
		c.next = nil
		c.ahead[0] = nil
		c.ahead = c.ahead[1:]
		d.seq = c.prefix.Add(d.record.Offset)
		c.pace()
	} else {
		c.refused = c.refused[1:]
	}
	c.flying[d] = struct{}{}
	m := d.msg
	c.watchers.Go(func() { c.watch(d, m) })
}

// pace pauses fetching while enough is in memory.
func (c *claim) pace() {
	here := map[string][]int32{c.from.Topic(): {c.from.Partition()}}
	switch n := len(c.ahead); {
	case !c.paused && n >= maxAhead:
		c.paused = true
		c.sub.member.Pause(here)
	case c.paused && n <= maxAhead/2:
		c.paused = false
		c.sub.member.Resume(here)
	}
}

// watch waits for the fate of a message that is out.
func (c *claim) watch(d *delivery, m *message.Message) {
	o := outcome{delivery: d}
	select {
	case <-m.Acked():
		o.acked = true
	case <-m.Nacked():
	case <-c.over:
		return
	}
	select {
	case c.outcomes <- o:
	case <-c.over:
	}
}

func (c *claim) settled(o outcome) {
	delete(c.flying, o.delivery)
	o.cancel()
	if o.acked {
		c.confirm(o.delivery)
		return
	}
	d := o.delivery
	d.nacks++
	d.due, d.msg = time.Now().Add(nackDelay.Delay(d.nacks)), nil
	i := 0
	for i < len(c.refused) && c.refused[i].seq < d.seq {
		i++
	}
	c.refused = append(c.refused, nil)
	copy(c.refused[i+1:], c.refused[i:])
	c.refused[i] = d
}

// confirm marks what may be committed. Sarama commits it within CommitInterval,
// and before the partition is let go.
func (c *claim) confirm(d *delivery) {
	c.sub.window.Give(c)
	c.finish(d.seq)
}

func (c *claim) finish(seq int64) {
	if c.prefix.Done(seq) {
		last, _ := c.prefix.Prefix()
		c.session.MarkOffset(c.from.Topic(), c.from.Partition(), last+1, "")
	}
}

// keep has the last commit say what is done behind a gap.
func (c *claim) keep() {
	numbers := append(slices.Collect(maps.Keys(c.done)), c.prefix.Behind()...)
	at, gap := c.prefix.Gap()
	if !gap || len(numbers) == 0 {
		return
	}
	note := noteOf(at, numbers)
	// The one moves forward only, the other back only, or where the offset is.
	c.session.MarkOffset(c.from.Topic(), c.from.Partition(), at, note)
	c.session.ResetOffset(c.from.Topic(), c.from.Partition(), at, note)
}

// settle waits for what is out, as long as the partition is ours and there is
// time for it.
func (c *claim) settle() {
	c.drop()
	messages, session := c.from.Messages(), c.session.Context().Done()
	var deadline <-chan time.Time
	going := func() { // the partition is to be let go
		if deadline == nil {
			t := time.NewTimer(c.sub.handed)
			deadline = t.C
		}
	}
	for {
		if deadline != nil && len(c.flying) == 0 {
			return
		}
		select {
		case _, ok := <-messages:
			if !ok {
				messages = nil
				going()
			}
		case <-session:
			session = nil
			if c.lost() {
				return
			}
			going()
		case o := <-c.outcomes:
			c.settled(o)
			c.drop()
		case <-c.sub.ending:
			return
		case <-deadline:
			c.sub.log.Warn("kafkabus: a partition was let go with unacknowledged messages; another instance gets them, too",
				"partition", c.from.Partition(), "messages", len(c.flying))
			return
		}
	}
}

// drop gives up what is not out: who has the partition next reads it again.
func (c *claim) drop() {
	if c.next != nil {
		c.next.cancel()
		c.sub.window.Give(c)
		c.next = nil
	}
	for _, d := range c.refused {
		if d.msg != nil {
			d.cancel()
		}
		c.sub.window.Give(c)
	}
	c.refused, c.ahead = nil, nil
}

// lost reports whether the session that has ended took the partition with it, in
// contrast to one that we end, or that ends because the group is sharing out
// partitions anew and waits for us.
func (c *claim) lost() bool {
	cause := context.Cause(c.session.Context())
	for _, orderly := range []error{
		errLeaving, sarama.ErrRebalanceInProgress, sarama.ErrSessionPartitionCountChanged, sarama.ErrSessionConsumeClaimExited,
	} {
		if errors.Is(cause, orderly) {
			return false
		}
	}
	return true
}

// end counts what was acknowledged, seen or not, and ends the contexts of the rest.
func (c *claim) end() {
	close(c.over)
	c.watchers.Wait()
	for d := range c.flying {
		select {
		case <-d.msg.Acked():
			c.confirm(d)
		default:
		}
		d.cancel()
	}
	if last, moved := c.prefix.Prefix(); moved {
		c.sub.mark(c.from.Partition(), last+1)
	}
	c.keep()
	if c.paused {
		c.sub.member.Resume(map[string][]int32{c.from.Topic(): {c.from.Partition()}})
	}
}
