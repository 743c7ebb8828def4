package ops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redrive"
)

const (
	maxDeadSeen  = 1000 // of each topic: so many are looked at at once
	maxDeadShown = 20   // of each topic, the newest
)

// deadLetters is how a dead letter topic stands. Those that were redriven or
// dropped do not count, wherever the transport keeps them.
type deadLetters struct {
	Topic  string       `json:"topic"`
	Count  int          `json:"count"`
	Recent []deadLetter `json:"recent"` // newest first
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

// deadLetterTopics are those of all consumers.
func deadLetterTopics(consumers []Consumer) (topics []string) {
	for _, c := range consumers {
		if !slices.Contains(topics, c.DeadLetters) {
			topics = append(topics, c.DeadLetters)
		}
	}
	return topics
}

// countDead counts the letters of every dead letter topic: by the lag of the
// group that looks after them, or by looking where that is not known.
func (o *Ops) countDead(ctx context.Context, lags []bus.Lag) ([]deadLetters, error) {
	all := make([]deadLetters, 0, len(o.letters))
	for _, topic := range o.topics {
		d := deadLetters{Topic: topic, Recent: []deadLetter{}}
		i := slices.IndexFunc(lags, func(l bus.Lag) bool { return l.Topic == topic && l.Group == bus.RedriveGroup })
		if i >= 0 {
			d.Count = lags[i].Messages
		} else {
			found, err := o.letters[topic].List(ctx, redrive.Filter{}, 0)
			if err != nil {
				return nil, fmt.Errorf("ops: dead letters: %w", err)
			}
			d.Count = found.Pending
		}
		all = append(all, d)
	}
	return all, nil
}

// showRecent fills in the newest letters. While another pass holds a queue that
// cannot be looked at meanwhile, those of the last look stand.
func (o *Ops) showRecent(ctx context.Context, all []deadLetters) {
	for i := range all {
		d := &all[i]
		s := o.letters[d.Topic]
		if d.Count == 0 {
			s.remember(nil)
			continue
		}
		found, err := s.List(ctx, redrive.Filter{}, 0)
		if err != nil {
			d.Recent = s.remembered()
			continue
		}
		slices.Reverse(found.Letters)
		for _, l := range found.Letters[:min(len(found.Letters), maxDeadShown)] {
			d.Recent = append(d.Recent, present(l))
		}
		s.remember(d.Recent)
	}
}
