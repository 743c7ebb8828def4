package logsub

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/sqllog"
)

// nackDelay is how long a refused message waits for its next delivery. Retries
// with longer pauses are the business of the consumer, who then does not nack.
var nackDelay = backoff.Policy{Initial: 5 * time.Millisecond, Max: 100 * time.Millisecond}

// deliver hands over messages until the intake stops. In every round it does
// the first thing that is possible: a refused message, whose successors wait
// for it; a message that was read; reading.
func (l *lane) deliver(ctx context.Context) {
	wake, cancel := l.sub.hub.wakes.lane(l.lease.Lane).Subscribe()
	defer cancel()
	l.expiry = time.NewTimer(time.Hour)
	defer l.expiry.Stop()
	at := l.lease.Position
	failures := 0
	var ahead []sqllog.Entry
	var next *delivery // made of ahead[0], holds a place of the window
	defer func() {
		if next != nil {
			next.cancel()
			l.sub.window.give(l)
		}
	}()
	for ctx.Err() == nil {
		again, wait := l.again()
		switch {
		case wait > 0:
			l.wait(ctx, nil, wait)
		case again != nil:
			l.handOverAgain(ctx, again)
		case next != nil:
			if l.handOver(ctx, next) {
				next, ahead = nil, ahead[1:]
			}
		case len(ahead) > 0:
			if l.full() || !l.sub.window.take(l) {
				l.wait(ctx, nil, 0)
				continue
			}
			next = &delivery{entry: ahead[0]}
			l.compose(ctx, next)
		default:
			entries, position, err := l.sub.hub.b.Log.Read(ctx, l.lease.Lane, at, l.batch())
			switch {
			case ctx.Err() != nil:
			case errors.Is(err, sqllog.ErrLeaseLost):
				// What is in memory means nothing on this server.
				l.sub.hub.committer.remove(l)
				l.lose()
			case err != nil:
				failures++
				l.sub.log.Warn("bus: reading failed; trying again", slog.Int("attempt", failures), slog.Any("error", err))
				l.wait(ctx, nil, retry.Delay(failures))
			default:
				failures, ahead, at = 0, entries, position
				if len(entries) == 0 {
					l.wait(ctx, wake, l.sub.hub.cfg.PollInterval)
				}
			}
		}
	}
}

func (l *lane) batch() int { return min(max(l.sub.window.size, minReadBatch), maxReadBatch) }

// wait returns when the lane is kicked or woken, after d when it is not 0, or
// when the intake stops.
func (l *lane) wait(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	var after <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-wake:
	case <-l.kicked:
	case <-after:
	case <-ctx.Done():
	}
}

// again returns the first refused message when its pause is over, or how long
// that will take. A later one has to wait for it.
func (l *lane) again() (d *delivery, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.nacked) == 0 {
		return nil, 0
	}
	d = l.nacked[0]
	return d, time.Until(d.due)
}

// full is whether the lane has got too far ahead of an unacknowledged message.
func (l *lane) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tracker.span() >= l.sub.hub.cfg.Span
}

// compose makes the message of a delivery. Its context has the values of the
// subscription's, but outlives the intake.
func (l *lane) compose(ctx context.Context, d *delivery) {
	msg, err := decode(d.entry, l.sub.hub.b.headers())
	if err != nil {
		l.sub.log.Error("bus: a message is delivered without its metadata", eventlog.Message(msg), slog.Any("error", err))
	}
	ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	msg.SetContext(laneContext{ctx, l.over})
	d.msg = msg
}

// laneContext ends with its lane, along with all others of it. Cancelling their
// contexts takes a while and has no order; meanwhile a later message of a key
// could be handled in place of one that has just been taken away.
type laneContext struct {
	context.Context
	over <-chan struct{}
}

func (c laneContext) Err() error {
	select {
	case <-c.over:
		return context.Canceled
	default:
		return c.Context.Err()
	}
}

// handOver gives a message to the consumer. It returns false when something
// else has to be looked at first.
func (l *lane) handOver(ctx context.Context, d *delivery) bool {
	if !l.send(ctx, d) {
		return false
	}
	l.mu.Lock()
	d.seq = l.tracker.add(d.entry.Position)
	l.open++
	l.mu.Unlock()
	l.watchers.Add(1)
	go l.watch(d)
	return true
}

func (l *lane) handOverAgain(ctx context.Context, d *delivery) {
	l.compose(ctx, d)
	if !l.send(ctx, d) {
		d.cancel()
		return
	}
	l.mu.Lock()
	for i, n := range l.nacked {
		if n == d {
			l.nacked = append(l.nacked[:i], l.nacked[i+1:]...)
			break
		}
	}
	l.mu.Unlock()
	l.watchers.Add(1)
	go l.watch(d)
}

// send waits for the consumer, but no longer than the lease is valid for sure:
// afterwards another instance may be handing out the same message.
func (l *lane) send(ctx context.Context, d *delivery) bool {
	l.mu.Lock()
	left := time.Until(l.until)
	l.mu.Unlock()
	if left <= 0 {
		l.sub.hub.committer.signal()
		l.wait(ctx, nil, l.sub.hub.cfg.PollInterval)
		return false
	}
	l.expiry.Reset(left)
	defer l.expiry.Stop()
	select {
	case l.sub.out <- d.msg:
		return true
	case <-l.kicked:
	case <-l.expiry.C:
	case <-ctx.Done():
	}
	return false
}
