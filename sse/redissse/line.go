package redissse

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/backoff"
)

// line is a connection that listens to some channels of one node, and reconnects
// whenever it breaks.
type line struct {
	broker   *broker
	channels []string
	hearing  *hearing
}

// retries are the pauses between attempts at an unreachable server: a short outage
// loses few messages after its end, and a long one costs few calls.
var retries = backoff.Policy{Initial: 50 * time.Millisecond, Max: 2 * time.Second, Jitter: 0.5}

// keep listens until ctx ends, or until a retry cannot help.
func (l *line) keep(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		up, err := l.listen(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if up {
			attempt = 1
			l.hearing.down()
		}
		if useless(err) {
			return err
		}
		if cluster, ok := l.broker.client.(*redis.ClusterClient); ok {
			cluster.ReloadState(ctx) // the channel may be with another node
		}
		if backoff.Sleep(ctx, retries.Delay(attempt)) != nil {
			return nil
		}
	}
}

// listen makes one connection, and returns when it breaks; up says whether it got
// to listening. The client's own subscriptions reconnect unnoticed, so each has one
// life here.
func (l *line) listen(ctx context.Context) (up bool, err error) {
	sub := l.subscriber(ctx)
	subscribe := sub.Subscribe
	if l.broker.sharded {
		subscribe = sub.SSubscribe
	}
	alone, over := context.WithCancel(ctx)
	watched := make(chan struct{})
	w := &words{began: time.Now()}
	go func() {
		defer close(watched)
		defer sub.Close() //nolint:errcheck // whatever waits for it fails, which is what this is for
		l.watch(alone, sub, w)
	}()
	defer func() {
		over()
		<-watched
	}()
	if err := subscribe(ctx, l.channels...); err != nil {
		return false, err
	}
	missing := len(l.channels)
	for {
		heard, err := sub.Receive(ctx)
		if err != nil {
			return up, err
		}
		w.busy.Store(true)
		switch heard := heard.(type) {
		case *redis.Subscription:
			if heard.Kind != "subscribe" && heard.Kind != "ssubscribe" {
				return up, errMoved
			}
			if missing--; missing == 0 {
				up = true
				l.hearing.up()
			}
		case *redis.Message:
			if m, ok := l.broker.decode(heard.Channel, heard.Payload); ok {
				l.hearing.l.Hear(m)
			}
		}
		w.said()
		w.busy.Store(false)
	}
}

// subscriber listens to nothing yet, so it does not connect.
func (l *line) subscriber(ctx context.Context) *redis.PubSub {
	if l.broker.sharded {
		return l.broker.client.SSubscribe(ctx)
	}
	return l.broker.client.Subscribe(ctx)
}

// words records when the server last sent data.
type words struct {
	began time.Time
	count atomic.Int64
	last  atomic.Int64 // ns after began
	busy  atomic.Bool  // a message is being handled
}

func (w *words) said() {
	w.last.Store(int64(time.Since(w.began)))
	w.count.Add(1)
}

func (w *words) silence() time.Duration {
	if w.busy.Load() {
		return 0
	}
	return time.Since(w.began) - time.Duration(w.last.Load())
}

// watch returns when ctx ends, or when the server sends nothing, even after a PING.
func (l *line) watch(ctx context.Context, sub *redis.PubSub, w *words) {
	limit := l.broker.cfg.silence()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	before := int64(-1) // words when it was asked
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		silence, count := w.silence(), w.count.Load()
		switch {
		case silence < limit:
			timer.Reset(limit - silence)
		case count == before:
			return
		default:
			before = count
			if sub.Ping(ctx) != nil {
				return
			}
			timer.Reset(limit)
		}
	}
}

// errMoved is for a node that has ended a subscription: its slot moved elsewhere.
var errMoved = errors.New("the channel was moved to another node")
