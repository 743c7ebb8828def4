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
		ID: l.ID, Type: l.Type, OriginalTopic: l.OriginalTopic, Group: l.Group, Reason: l.Reason, Class: l.Class, Error: l.Error,
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

// recent are the last known dead letters: the newer one of the lag and the last
// look at the letters counts them.
func (l *Letters) recent(seen bus.LagSnapshot) []deadLetters {
	lagAt := time.Now().Add(-seen.Age)
	all := make([]deadLetters, 0, len(l.topics))
	for _, topic := range l.topics {
		count, recent, at := l.boxes[topic].last()
		if n, ok := buried(seen.Lags, topic); ok && lagAt.After(at) {
			count, at = n, lagAt
		}
		d := deadLetters{Topic: topic, Count: count, Recent: recent[:min(count, len(recent))], Apart: l.apart[topic]}
		if !at.IsZero() {
			d.AgeSeconds = seconds(time.Since(at))
		}
		all = append(all, d)
	}
	return all
}

// now returns the numbers of letters: by the lags, or by a look at the letters
// where the lags do not include them.
func (l *Letters) now(ctx context.Context, lags []bus.Lag) ([]deadLetters, error) {
	all := make([]deadLetters, 0, len(l.topics))
	for _, topic := range l.topics {
		n, known := buried(lags, topic)
		d := deadLetters{Topic: topic, Count: n, Recent: []deadLetter{}, AgeSeconds: seconds(0), Apart: l.apart[topic]}
		if !known {
			found, err := l.boxes[topic].look(ctx)
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
func (l *Letters) showRecent(ctx context.Context, all []deadLetters) {
	for i := range all {
		d := &all[i]
		if d.Count == 0 || len(d.Recent) > 0 {
			continue
		}
		if found, err := l.boxes[d.Topic].look(ctx); err == nil {
			d.Recent = found.recent
		} else {
			_, d.Recent, _ = l.boxes[d.Topic].last()
		}
	}
}

// buried is the number of letters in a topic, by the last look.
func (l *Letters) buried(topic string) int {
	for _, d := range l.recent(l.lags.Snapshot()) {
		if d.Topic == topic {
			return d.Count
		}
	}
	return 0
}
