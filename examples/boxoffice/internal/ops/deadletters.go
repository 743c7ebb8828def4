package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
)

const (
	maxDeadCounted = 1000 // of each topic; more are shown as this many
	maxDeadShown   = 20   // of each topic, the newest
)

type deadLetters struct {
	Topic  string       `json:"topic"`
	Count  int          `json:"count"`
	Recent []deadLetter `json:"recent"`
}

type deadLetter struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Group  string `json:"group"`
	Reason string `json:"reason"`
	Class  string `json:"class"`
	Error  string `json:"error"`
	At     string `json:"at"` // of the last failure
}

// deadLetters looks into every dead letter topic, newest first.
func (o *Ops) deadLetters(ctx context.Context) ([]deadLetters, error) {
	var topics []string
	for _, c := range o.cfg.Consumers {
		if !slices.Contains(topics, c.DeadLetters) {
			topics = append(topics, c.DeadLetters)
		}
	}
	all := make([]deadLetters, 0, len(topics))
	for _, topic := range topics {
		d := deadLetters{Topic: topic, Recent: []deadLetter{}}
		letters, err := o.cfg.Bus.Browse(ctx, topic, maxDeadCounted)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, fmt.Errorf("ops: dead letters: %w", err)
		}
		d.Count = len(letters)
		slices.Reverse(letters)
		for _, m := range letters[:min(len(letters), maxDeadShown)] {
			d.Recent = append(d.Recent, present(m))
		}
		all = append(all, d)
	}
	return all, nil
}

func present(m *message.Message) deadLetter {
	d := deadLetter{
		ID: m.UUID, Group: m.Metadata.Get(bus.DLQGroup), Reason: m.Metadata.Get(bus.DLQReason),
		Class: m.Metadata.Get(bus.DLQClass), Error: m.Metadata.Get(bus.DLQError), At: m.Metadata.Get(bus.DLQLastFailure),
	}
	if e, err := event.Decode(m); err == nil { // what is no event has no type
		d.Type = e.Type
	}
	return d
}
