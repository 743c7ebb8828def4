package logsub

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/internal/log"
)

// readChunk is how many entries one step of a walk reads.
const readChunk = 500

// walk visits the entries of a lane behind a position, up to the present end, and returns the
// position there. It holds no lease.
func (h *Hub) walk(ctx context.Context, lane int, at log.Position, visit func(log.Entry) error) (log.Position, error) {
	// A read may end with a window of the log and advance without entries, once.
	for empty := 0; empty < 2; empty++ {
		entries, next, err := h.b.Log.Read(ctx, lane, at, readChunk)
		if err != nil {
			return at, err
		}
		for _, e := range entries {
			if err := visit(e); err != nil {
				return at, err
			}
			empty = -1
		}
		at = next
	}
	return at, nil
}

// target is the location of a place in a lane.
type target struct {
	at     log.Position
	behind int64 // entries behind it
}

// find finds a place in the n-th lane of a topic. ok is false for a partition that the place
// leaves out; current is the group's position.
func (h *Hub) find(ctx context.Context, topic Topic, n int, place bus.Place, current log.Position) (t target, ok bool, err error) {
	var from log.Position
	before := func(log.Entry) bool { return false }
	switch at, named := place.Positions[n]; {
	case place.Positions != nil && !named:
		return t, false, nil
	case named:
		before = func(e log.Entry) bool { return e.Number() < at }
	case !place.Since.IsZero():
		before = func(e log.Entry) bool { return e.CreatedAt.Before(place.Since) }
	case place.Latest:
		from, before = current, func(log.Entry) bool { return true }
	}
	t.at = from
	end, err := h.walk(ctx, topic.FirstLane+n, from, func(e log.Entry) error {
		if t.behind == 0 && before(e) {
			t.at = e.Position
		} else {
			t.behind++
		}
		return nil
	})
	if t.behind == 0 {
		t.at = end
	}
	return t, true, err
}

// waiting is the number of entries behind a group's cursor.
func (h *Hub) waiting(ctx context.Context, c log.Cursor) (int64, error) {
	n, _, err := h.b.Log.Backlog(ctx, c, 1, math.MaxInt32)
	return int64(n), err
}

// Read implements [driver.Reader] for the hub's topics; a topic that does not exist has no
// messages.
func (h *Hub) Read(ctx context.Context, name string, from bus.Place, fn func(*message.Message) error) error {
	topic, ok, err := h.Topic(ctx, name)
	if err != nil || !ok || from.Latest {
		return err
	}
	if err := checkPartitions(topic, from); err != nil {
		return err
	}
	for n := range topic.Partitions {
		at, named := from.Positions[n]
		if from.Positions != nil && !named {
			continue
		}
		begun := false
		_, err := h.walk(ctx, topic.FirstLane+n, log.Position{}, func(e log.Entry) error {
			begun = begun || e.Number() >= at && !e.CreatedAt.Before(from.Since)
			if !begun {
				return nil
			}
			return fn(h.message(e))
		})
		if err != nil {
			return fmt.Errorf("logsub: read partition %d of %s: %w", n, name, err)
		}
	}
	return nil
}

// checkPartitions refuses a place in a partition that the topic does not have.
func checkPartitions(topic Topic, p bus.Place) error {
	for n := range p.Positions {
		if n >= topic.Partitions {
			return fmt.Errorf("logsub: Place.Positions names partition %d; %s has the partitions 0 to %d", n, topic.Name, topic.Partitions-1)
		}
	}
	return nil
}

// has reports whether the topic has the group.
func (h *Hub) has(ctx context.Context, topic Topic, group string) (bool, error) {
	groups, err := h.b.Directory.Groups(ctx, topic)
	return slices.Contains(groups, group), err
}
