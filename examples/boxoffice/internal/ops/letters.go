package ops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
)

const (
	// lookFor bounds a look at the letters of one topic: a transport that shows
	// them only to a reader of the group takes 15 s to be sure of the last.
	lookFor = 20 * time.Second
	// lookAfter bounds the look after a change, for which a request waits.
	lookAfter = 5 * time.Second
)

// Letters are the dead letters of all consumers.
type Letters struct {
	topics          []string
	apart           map[string]bool // those of them that are no part of the books
	boxes           map[string]*letterbox
	lags            *bus.LagMonitor
	attention       *attention
	look            signal.Signal // the letters are asked for
	every, passTime time.Duration
}

func newLetters(cfg Config, lags *bus.LagMonitor, a *attention) (*Letters, error) {
	l := &Letters{
		topics: deadLetterTopics(cfg.Consumers), apart: apartTopics(cfg.Consumers), boxes: map[string]*letterbox{},
		lags: lags, attention: a, look: a.waker(), every: cfg.Every, passTime: cfg.PassTime,
	}
	for _, topic := range l.topics {
		found, err := redrive.New(cfg.Bus, topic, redrive.Config{Window: maxDeadSeen})
		if err != nil {
			return nil, fmt.Errorf("ops: %w", err)
		}
		l.boxes[topic] = &letterbox{Letters: found}
	}
	return l, nil
}

// of has the letters of a topic.
func (l *Letters) of(topic string) (*letterbox, error) {
	box, ok := l.boxes[topic]
	if !ok {
		return nil, ErrNoTopic
	}
	return box, nil
}

// Run counts the dead letters.
func (l *Letters) Run(ctx context.Context) {
	l.awaitLags(ctx)
	l.look.Repeat(ctx, func(ctx context.Context) time.Duration {
		began := time.Now()
		l.lookAtAll(ctx) // a look that fails is repeated by the next round
		return l.every - time.Since(began)
	})
}

// awaitLags waits for the first lags that name all topics: they show which topics need no look, and
// a look asks for all lags again. A transport that knows only its own groups may never name them:
// awaitLags waits for two answers at most.
func (l *Letters) awaitLags(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	second := time.NewTimer(l.every + time.Second)
	defer second.Stop()
	for s := l.lags.Snapshot(); s.Err == nil && !l.counted(s); s = l.lags.Snapshot() {
		select {
		case <-tick.C:
		case <-second.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// counted reports whether the lags include the number of letters of each topic.
func (l *Letters) counted(s bus.LagSnapshot) bool {
	return s.Known && !slices.ContainsFunc(l.topics, func(topic string) bool {
		_, known := buried(s.Lags, topic)
		return !known
	})
}

// lookAtAll looks at each topic in turn.
func (l *Letters) lookAtAll(ctx context.Context) {
	seen := l.lags.Snapshot()
	watched := l.attention.paid()
	for _, topic := range l.topics {
		n, counted := buried(seen.Lags, topic)
		switch {
		case !counted || watched && n > 0:
			l.refresh(ctx, topic, lookFor)
		case n == 0:
			l.boxes[topic].saw(listing{}, time.Now().Add(-seen.Age))
		}
	}
}

// refresh looks at the letters of a topic now. After a failure the last result stays: while another
// pass holds a queue that cannot be looked at meanwhile, or the transport does not answer.
func (l *Letters) refresh(ctx context.Context, topic string, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	if found, err := l.boxes[topic].look(ctx); err == nil {
		l.boxes[topic].saw(found, began)
	}
}
