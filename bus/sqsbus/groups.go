package sqsbus

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/fault"
)

// groups knows the group of each topic's queue, as far as this process can: a queue has one
// group, and a second one would take messages from the first.
type groups struct {
	shared bool // each group has a queue, so there may be many

	mu     sync.Mutex
	topics map[string]*readers
}

// readers are the groups of one topic.
type readers struct {
	owner string         // the declared group
	open  map[string]int // the subscriptions of each group that was declared or has subscribed
}

func newGroups(shared bool) *groups {
	return &groups{shared: shared, topics: make(map[string]*readers)}
}

func (g *groups) of(topic, group string) (*readers, error) {
	if group == "" {
		return nil, fault.MarkPermanent(fmt.Errorf("the group has no name"))
	}
	r := g.topics[topic]
	if r == nil {
		r = &readers{open: make(map[string]int)}
		g.topics[topic] = r
	}
	return r, nil
}

// declare assigns the queue to a group. The redrive group owns none: it reads dead letters
// that no other group reads.
func (g *groups) declare(topic, group string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.of(topic, group)
	if err != nil {
		return err
	}
	if group != busdriver.RedriveGroup && !g.shared {
		if r.owner != "" && r.owner != group {
			return otherGroup(topic, r.owner, group)
		}
		r.owner = group
	}
	r.open[group] += 0
	return nil
}

// join notes a subscription until leave is called.
func (g *groups) join(topic, group string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.of(topic, group)
	if err != nil {
		return err
	}
	if !g.shared {
		for other, n := range r.open {
			if n > 0 && other != group {
				return otherGroup(topic, other, group)
			}
		}
		if r.owner != "" && r.owner != group && group != busdriver.RedriveGroup {
			return otherGroup(topic, r.owner, group)
		}
	}
	r.open[group]++
	return nil
}

func (g *groups) leave(topic, group string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.topics[topic].open[group]--
}

// all returns the groups of a topic.
func (g *groups) all(topic string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.topics[topic]; r != nil {
		return slices.Collect(maps.Keys(r.open))
	}
	return nil
}

func otherGroup(topic, owner, group string) error {
	return fault.MarkPermanent(fmt.Errorf("%w: topic %s is read by %s; SQS has queues, not groups, so %s would take its messages: publish them for it on a topic of its own",
		errOtherGroup, topic, owner, group))
}
