package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/outbox/driver"
)

// A publisher may never return from Publish. So each call has its own goroutine, which only
// touches its messages and its result: the relay can go on without a hanging call.

// grace is how long a cancelled call may take to return before it is abandoned.
const grace = time.Second

var (
	errExited   = errors.New("outbox: the publisher ended its goroutine")
	errShutdown = errors.New("outbox: the relay shuts down")
)

// call is a Publish call under way.
type call struct {
	topic    string
	began    time.Time
	returned chan struct{}
	err      error // valid once returned is closed
}

// laneContext is the context of one lane's messages: if a call hangs, the messages of other
// lanes are not cancelled.
type laneContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

func newLaneContexts(parent context.Context, n int) []laneContext {
	out := make([]laneContext, n)
	for i := range out {
		out[i].Context, out[i].cancel = context.WithCancelCause(parent)
	}
	return out
}

func (r *Relay) start(ctx context.Context, topic string, msgs []*message.Message) *call {
	c := &call{topic: topic, began: time.Now(), returned: make(chan struct{}), err: errExited}
	go func() {
		defer close(c.returned)
		c.err = r.send(ctx, topic, msgs)
	}()
	return c
}

// call publishes msgs, the first of which belongs to the item, and waits for PublishTimeout at
// most. It reports whether the call returned. If not, the messages are cancelled, their outcome
// is unknown, and the round ends.
func (rd *round) call(ctx laneContext, it *driver.Item, topic string, msgs []*message.Message) (returned bool, err error) {
	r := rd.s.r
	c := r.start(ctx, topic, msgs)
	timer := time.NewTimer(r.cfg.PublishTimeout)
	defer timer.Stop()
	select {
	case <-c.returned:
		return true, c.err
	case <-timer.C:
	case <-rd.abandon:
	}
	select {
	case <-c.returned: // just in time
		return true, c.err
	default:
	}
	ctx.cancel(errHung)
	r.tooMany(len(msgs))
	age := time.Since(c.began)
	r.cfg.Logger.Error("outbox: the publisher does not return from Publish; giving the lease up. If it is only slow, raise RelayConfig.PublishTimeout",
		"shard", rd.s.id, "topic", topic, "messages", len(msgs), loggedAs(it), "age", age, "publisher", fmt.Sprintf("%T", r.pub))
	r.cfg.Hooks.Hung(rd.s.id, topic, age)
	rd.mu.Lock()
	rd.hung = append(rd.hung, c)
	rd.mu.Unlock()
	rd.stop.Store(true)
	return false, nil
}

// chunk returns how many messages go into one call: as many as take half of PublishTimeout at
// most. With more, a publisher that writes its messages one by one would seem to hang.
func (r *Relay) chunk() int {
	cost := max(1, r.cost.Load())
	return int(max(1, min(int64(r.cfg.Chunk), int64(r.cfg.PublishTimeout/2)/cost)))
}

// tooMany records that a call of n messages has not returned in time: the next call has half as
// many.
func (r *Relay) tooMany(n int) {
	if n > 1 {
		r.cost.Store(max(r.cost.Load(), int64(r.cfg.PublishTimeout)/int64(n)))
	}
}

// standBack waits until the hanging calls have returned, or ctx is done: if the relay took the
// lease before, its next calls would hang too.
func (s *shard) standBack(ctx context.Context) {
	for len(s.hung) > 0 {
		c := s.hung[0]
		select {
		case <-c.returned:
		case <-ctx.Done():
			return
		}
		s.hung = s.hung[1:]
		s.r.cfg.Logger.Info("outbox: the publisher has returned after all; trying for the lease again",
			"shard", s.id, "topic", c.topic, "after", time.Since(c.began), "error", c.err)
	}
}

// leave reports a call that still hangs when the shard ends.
func (s *shard) leave() error {
	if len(s.hung) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	s.standBack(ctx)
	if len(s.hung) == 0 {
		return nil
	}
	c := s.hung[0]
	return fmt.Errorf("%w: %T, for %v, shard %d, topic %q: its messages may still arrive",
		errHung, s.r.pub, time.Since(c.began).Round(time.Millisecond), s.id, c.topic)
}
