package sqsbus

import (
	"fmt"
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
	owner  string   // the declared group
	known  []string // all that were declared or have subscribed
	active string   // the group that subscribes now
	n      int      // how many of its subscriptions
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
		r = &readers{}
		g.topics[topic] = r
	}
	return r, nil
}

func (r *readers) note(group string) {
	if !slices.Contains(r.known, group) {
		r.known = append(r.known, group)
	}
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
	r.note(group)
	return nil
}

// join notes a subscription until leave is called.
func (g *groups) join(topic, group string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.of(topic, group)
	switch {
	case err != nil:
		return err
	case g.shared:
	case r.n > 0 && r.active != group:
		return otherGroup(topic, r.active, group)
	case r.owner != "" && r.owner != group && group != busdriver.RedriveGroup:
		return otherGroup(topic, r.owner, group)
	}
	r.active = group
	r.n++
	r.note(group)
	return nil
}

func (g *groups) leave(topic string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.topics[topic].n--
}

// all returns the groups of a topic.
func (g *groups) all(topic string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.topics[topic]; r != nil {
		return slices.Clone(r.known)
	}
	return nil
}

func otherGroup(topic, owner, group string) error {
	return fault.MarkPermanent(fmt.Errorf("%w: topic %s is read by %s; SQS has queues, not groups, so %s would take its messages: publish them for it on a topic of its own",
		errOtherGroup, topic, owner, group))
}
