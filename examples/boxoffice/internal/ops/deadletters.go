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

// buried is how many letters wait in a topic, if the lags include that: the lag of
// the group for dead letters.
func buried(lags []bus.Lag, topic string) (n int, known bool) {
	i := slices.IndexFunc(lags, func(l bus.Lag) bool { return l.Topic == topic && l.Group == driver.RedriveGroup })
	if i < 0 {
		return 0, false
	}
	return lags[i].Messages, true
}

// recent are the last known dead letters.
func (l *Letters) recent(seen bus.LagSnapshot) []deadLetters {
	all := make([]deadLetters, len(l.boxes))
	for i, box := range l.boxes {
		all[i] = box.recent(seen)
	}
	return all
}

// now returns the numbers of letters: by the lags, or by a look at the letters
// where the lags do not include them.
func (l *Letters) now(ctx context.Context, lags []bus.Lag) ([]deadLetters, error) {
	all := make([]deadLetters, 0, len(l.boxes))
	for _, box := range l.boxes {
		n, known := buried(lags, box.topic)
		d := deadLetters{Topic: box.topic, Count: n, Recent: []deadLetter{}, AgeSeconds: seconds(0), Apart: box.apart}
		if !known {
			found, err := box.look(ctx)
			if err != nil {
				return nil, fmt.Errorf("ops: dead letters: %w", err)
			}
			d.Count, d.Recent = found.count, found.recent
		}
		all = append(all, d)
	}
	return all, nil
}

// showRecent looks at the letters of now that were only counted. If that fails, the
// letters of the last look stay.
func (l *Letters) showRecent(ctx context.Context, all []deadLetters) {
	for i, box := range l.boxes {
		d := &all[i]
		if d.Count == 0 || len(d.Recent) > 0 {
			continue
		}
		if found, err := box.look(ctx); err == nil {
			d.Recent = found.recent
		} else {
			_, d.Recent, _ = box.last()
		}
	}
}

// buried is the number of letters in a topic, by the last look.
func (l *Letters) buried(topic string) int {
	box, err := l.of(topic)
	if err != nil {
		return 0
	}
	return box.recent(l.lags.Snapshot()).Count
}
