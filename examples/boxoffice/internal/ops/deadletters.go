package ops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/redrive"
)

const (
	maxDeadSeen  = 1000 // of each topic: so many are looked at at once
	maxDeadShown = 20   // of each topic, the newest
)

// deadLetters is the state of a dead letter topic. Redriven or dropped letters do not
// count, wherever the transport keeps them.
type deadLetters struct {
	Topic      string       `json:"topic"`
	Count      int          `json:"count"`
	Recent     []deadLetter `json:"recent"`          // newest first
	AgeSeconds *float64     `json:"ageSeconds"`      // of the figures; null before the first look
	Apart      bool         `json:"apart,omitempty"` // of no consumer of the books
}

type deadLetter struct {
	ID            string `json:"id"`
	Type          string `json:"type"`
	Key           string `json:"key"`
	OriginalTopic string `json:"originalTopic"`
	Group         string `json:"group"`
	Reason        string `json:"reason"`
	Class         string `json:"class"`
	Error         string `json:"error"`
	Attempts      int    `json:"attempts"`
	Redrives      int    `json:"redrives"`
	Edits         int    `json:"edits"`
	At            string `json:"at"` // of the last failure
}

// apartTopics are the topics that only consumers apart from the books have.
func apartTopics(consumers []Consumer) map[string]bool {
	apart := map[string]bool{}
	for _, c := range consumers {
		if other, seen := apart[c.DeadLetters]; !seen || other {
			apart[c.DeadLetters] = c.Apart
		}
	}
	return apart
}

func present(l redrive.Letter) deadLetter {
	d := deadLetter{
		ID: l.ID, Type: l.Type(), OriginalTopic: l.OriginalTopic, Group: l.Group, Reason: l.Reason, Class: l.Class, Error: l.Error,
		Attempts: l.Attempts, Redrives: l.Redrives, Edits: l.Edits,
	}
	if l.Event != nil {
		d.Key = l.Event.Key()
	}
	if !l.LastFailure.IsZero() {
		d.At = l.LastFailure.UTC().Format(time.RFC3339Nano)
	}
	return d
}

// deadLetterTopics are the dead letter topics of all consumers.
func deadLetterTopics(consumers []Consumer) (topics []string) {
	for _, c := range consumers {
		if !slices.Contains(topics, c.DeadLetters) {
			topics = append(topics, c.DeadLetters)
		}
	}
	return topics
}

// buried is how many letters wait in a topic, if the lags include that: the lag of
// the group for dead letters.
func buried(lags []bus.Lag, topic string) (n int, known bool) {
	i := slices.IndexFunc(lags, func(l bus.Lag) bool { return l.Topic == topic && l.Group == driver.RedriveGroup })
	if i < 0 {
		return 0, false
	}
	return lags[i].Messages, true
}

// recentDead are the last known dead letters: the newer one of the lag and the last
// look at the letters counts them.
func (o *Ops) recentDead(seen bus.LagSnapshot) []deadLetters {
	lagAt := time.Now().Add(-seen.Age)
	all := make([]deadLetters, 0, len(o.topics))
	for _, topic := range o.topics {
		count, recent, at := o.letters[topic].last()
		if n, ok := buried(seen.Lags, topic); ok && lagAt.After(at) {
			count, at = n, lagAt
		}
		d := deadLetters{Topic: topic, Count: count, Recent: recent[:min(count, len(recent))], Apart: o.apart[topic]}
		if !at.IsZero() {
			d.AgeSeconds = seconds(time.Since(at))
		}
		all = append(all, d)
	}
	return all
}

// deadNow returns the numbers of letters: by the lags, or by a look at the letters
// where the lags do not include them.
func (o *Ops) deadNow(ctx context.Context, lags []bus.Lag) ([]deadLetters, error) {
	all := make([]deadLetters, 0, len(o.topics))
	for _, topic := range o.topics {
		n, known := buried(lags, topic)
		d := deadLetters{Topic: topic, Count: n, Recent: []deadLetter{}, AgeSeconds: seconds(0), Apart: o.apart[topic]}
		if !known {
			found, err := o.letters[topic].look(ctx)
			if err != nil {
				return nil, fmt.Errorf("ops: dead letters: %w", err)
			}
			d.Count, d.Recent = found.count, found.recent
		}
		all = append(all, d)
	}
	return all, nil
}

// showRecent looks at the letters that were only counted. If that fails, the letters
// of the last look stay.
func (o *Ops) showRecent(ctx context.Context, all []deadLetters) {
	for i := range all {
		d := &all[i]
		if d.Count == 0 || len(d.Recent) > 0 {
			continue
		}
		if found, err := o.letters[d.Topic].look(ctx); err == nil {
			d.Recent = found.recent
		} else {
			_, d.Recent, _ = o.letters[d.Topic].last()
		}
	}
}

// listing is a look at the letters of a topic.
type listing struct {
	count  int
	recent []deadLetter // newest first
}

// look asks the transport for the newest letters.
func (l *letters) look(ctx context.Context) (listing, error) {
	found, err := l.List(ctx, redrive.Filter{}, 0)
	if err != nil {
		return listing{}, err
	}
	slices.Reverse(found.Letters)
	seen := listing{count: found.Pending, recent: []deadLetter{}}
	for _, letter := range found.Letters[:min(len(found.Letters), maxDeadShown)] {
		seen.recent = append(seen.recent, present(letter))
	}
	return seen, nil
}

// saw keeps the result of a look that began at the time, unless a newer one is known.
func (l *letters) saw(found listing, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.After(l.at) {
		l.seen, l.at = found, at
	}
}

// last is the last look; at is zero without one.
func (l *letters) last() (count int, recent []deadLetter, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen.count, append([]deadLetter{}, l.seen.recent...), l.at
}
