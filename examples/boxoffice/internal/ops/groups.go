package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/bus"
)

// ErrNoGroup is returned for a group that no consumer of the box office has, or that the
// transport does not know yet.
var ErrNoGroup = errors.New("ops: no consumer has this topic and group")

type groupList struct {
	Groups []group `json:"groups"`
}

// group is the state of a consumer group, by the transport's current answer.
type group struct {
	Topic string `json:"topic"`
	Group string `json:"group"`
	Lag   int    `json:"lag"`
	Live  bool   `json:"live"` // it has members, and cannot be reset
}

// ConsumerGroups are the groups of the consumers, at the transport.
type ConsumerGroups struct {
	bus       *bus.Bus
	consumers []Consumer
}

// Groups asks the transport for the groups of the consumers. The error is
// errors.ErrUnsupported if the transport does not know them.
func (g *ConsumerGroups) Groups(ctx context.Context) (any, error) {
	var topics []string
	for _, c := range g.consumers {
		topics = append(topics, c.Topic)
	}
	all, err := g.bus.Groups(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	out := groupList{[]group{}}
	for _, one := range all {
		if g.consumes(one.Topic, one.Group) {
			out.Groups = append(out.Groups, group{one.Topic, one.Group, one.Messages, one.Live})
		}
	}
	return out, nil
}

// Reset is where a group is to begin: Since, or when that is zero the newest message
// (Latest) or the earliest.
type Reset struct {
	Latest bool
	Since  time.Time
	DryRun bool
}

type resetReport struct {
	Topic   string `json:"topic"`
	Group   string `json:"group"`
	DryRun  bool   `json:"dryRun"`
	Again   int64  `json:"again"`   // messages that the group gets again
	Skipped int64  `json:"skipped"` // messages that it does not get any more
}

// ResetGroup moves a consumer's group without members; for a group with members it
// returns bus.ErrGroupLive. Handled messages are skipped by their idempotency keys.
func (g *ConsumerGroups) ResetGroup(ctx context.Context, topic, name string, r Reset) (any, error) {
	if !g.consumes(topic, name) {
		return nil, ErrNoGroup
	}
	moved, err := g.bus.ResetGroup(ctx, topic, name, bus.Place{Latest: r.Latest, Since: r.Since}, r.DryRun)
	if errors.Is(err, bus.ErrNoGroup) {
		return nil, ErrNoGroup
	}
	if err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	return resetReport{topic, name, r.DryRun, moved.Again, moved.Skipped}, nil
}

func (g *ConsumerGroups) consumes(topic, name string) bool {
	return slices.ContainsFunc(g.consumers, func(c Consumer) bool { return c.Topic == topic && c.Group == name })
}
