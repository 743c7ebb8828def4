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
	boxes           []*letterbox
	lags            *bus.LagMonitor
	attention       *attention
	look            signal.Signal // the letters are asked for
	every, passTime time.Duration
}

func newLetters(cfg Config, lags *bus.LagMonitor, a *attention) (*Letters, error) {
	l := &Letters{lags: lags, attention: a, look: a.waker(), every: cfg.Every, passTime: cfg.PassTime}
	for _, c := range cfg.Consumers {
		box, err := l.of(c.DeadLetters)
		if err != nil {
			found, err := redrive.New(cfg.Bus, c.DeadLetters, redrive.Config{Window: maxDeadSeen})
			if err != nil {
				return nil, fmt.Errorf("ops: %w", err)
			}
			box = &letterbox{Letters: found, topic: c.DeadLetters, apart: true}
			l.boxes = append(l.boxes, box)
		}
		box.apart = box.apart && c.Apart
	}
	return l, nil
}

// of has the letters of a topic.
func (l *Letters) of(topic string) (*letterbox, error) {
	for _, box := range l.boxes {
		if box.topic == topic {
			return box, nil
		}
	}
	return nil, ErrNoTopic
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
	return s.Known && !slices.ContainsFunc(l.boxes, func(box *letterbox) bool {
		_, known := buried(s.Lags, box.topic)
		return !known
	})
}

// lookAtAll looks at each topic in turn.
func (l *Letters) lookAtAll(ctx context.Context) {
	seen := l.lags.Snapshot()
	watched := l.attention.paid()
	for _, box := range l.boxes {
		n, counted := buried(seen.Lags, box.topic)
		switch {
		case !counted || watched && n > 0:
			box.refresh(ctx, lookFor)
		case n == 0:
			box.saw(listing{}, time.Now().Add(-seen.Age))
		}
	}
}
