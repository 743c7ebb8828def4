package membus

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// Groups implements driver.GroupAdmin. A position is the number of earlier messages of the topic.
func (d *transport) Groups(_ context.Context, topics ...string) ([]driver.Group, error) {
	var all []driver.Group
	for _, t := range d.store.all() {
		if len(topics) > 0 && !slices.Contains(topics, t.name) {
			continue
		}
		t.mu.Lock()
		for name, g := range t.groups {
			all = append(all, driver.Group{Lag: t.lag(name, g), Positions: []int64{g.cursor}, Live: g.holder != nil})
		}
		t.mu.Unlock()
	}
	return all, nil
}

// ResetGroup implements driver.GroupResetter.
func (d *transport) ResetGroup(_ context.Context, topic, name string, to bus.Place, dryRun bool) (driver.Moved, error) {
	t := d.store.find(topic)
	if t == nil {
		return driver.Moved{}, bus.ErrNoGroup
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.groups[name]
	switch {
	case g == nil:
		return driver.Moved{}, bus.ErrNoGroup
	case g.holder != nil && !dryRun:
		return driver.Moved{}, bus.ErrGroupLive
	}
	at, err := t.place(to)
	if err != nil {
		return driver.Moved{}, err
	}
	if to.OnlyBack && at >= g.cursor {
		return driver.Moved{}, nil
	}
	moved := driver.Moved{Again: max(0, g.cursor-at), Skipped: max(0, at-g.cursor)}
	for done := range g.done {
		if done >= at {
			moved.Again++
		} else {
			moved.Skipped--
		}
	}
	if !dryRun {
		g.cursor, g.done = at, map[int64]bool{}
	}
	return moved, nil
}

// DeleteGroup implements driver.GroupAdmin.
func (d *transport) DeleteGroup(_ context.Context, topic, name string) error {
	t := d.store.find(topic)
	if t == nil {
		return bus.ErrNoGroup
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch g := t.groups[name]; {
	case g == nil:
		return bus.ErrNoGroup
	case g.holder != nil:
		return bus.ErrGroupLive
	}
	delete(t.groups, name)
	return nil
}

// Read implements driver.Reader.
func (d *transport) Read(ctx context.Context, topic string, from bus.Place, fn func(*message.Message) error) error {
	t := d.store.find(topic)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	at, err := t.place(from)
	if err != nil {
		t.mu.Unlock()
		return err
	}
	entries := slices.Clone(t.entries[at-t.first:])
	t.mu.Unlock()
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := fn(e.message()); err != nil {
			return err
		}
	}
	return nil
}

// place returns the position of a place, among the retained ones. The caller holds t.mu.
func (t *topic) place(p bus.Place) (int64, error) {
	switch {
	case p.Latest:
		return t.end(), nil
	case !p.Since.IsZero():
		i := sort.Search(len(t.entries), func(i int) bool { return !t.entries[i].at.Before(p.Since) })
		return t.first + int64(i), nil
	case p.Positions != nil:
		for n := range p.Positions {
			if n != 0 {
				return 0, fmt.Errorf("membus: Place.Positions names partition %d; %s has the partition 0 alone", n, t.name)
			}
		}
		return min(max(p.Positions[0], t.first), t.end()), nil
	}
	return t.first, nil
}
