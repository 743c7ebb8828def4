package logsub

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/log"
)

// Browse implements driver.Inspector.
func (d *Driver) Browse(ctx context.Context, name string, limit int) ([]*message.Message, error) {
	topic, ok, err := d.Topic(ctx, name)
	if err != nil || !ok || limit <= 0 {
		return nil, err
	}
	var found []log.Entry
	for n := range topic.Partitions {
		some, err := d.parts.Newest(ctx, topic.FirstLane+n, limit)
		if err != nil {
			return nil, d.Translate(fmt.Errorf("browse %s: %w", name, err))
		}
		found = append(found, some...)
	}
	slices.SortFunc(found, func(a, b log.Entry) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	var out []*message.Message
	for _, e := range found[max(0, len(found)-limit):] {
		out = append(out, d.hub.message(e))
	}
	return out, nil
}

// Pending implements driver.Pender: it reads like the group, without a lease. Messages of different
// partitions are merged by the time of their publication.
func (d *Driver) Pending(ctx context.Context, name, group string, limit int) ([]*message.Message, error) {
	topic, ok, err := d.Topic(ctx, name)
	if err != nil || !ok || limit <= 0 {
		return nil, err
	}
	ahead := d.parts.Ahead
	if ahead == nil {
		ahead = d.hub.ahead
	}
	lanes := make([][]log.Entry, topic.Partitions)
	for i := range lanes {
		if lanes[i], err = ahead(ctx, log.Cursor{Consumer: group, Lane: topic.FirstLane + i}, limit); err != nil {
			return nil, d.Translate(fmt.Errorf("pending of %s in %s: %w", group, name, err))
		}
	}
	var out []*message.Message
	for len(out) < limit {
		oldest := -1
		for i, entries := range lanes {
			if len(entries) > 0 && (oldest < 0 || entries[0].CreatedAt.Before(lanes[oldest][0].CreatedAt)) {
				oldest = i
			}
		}
		if oldest < 0 {
			break
		}
		out = append(out, d.hub.message(lanes[oldest][0]))
		lanes[oldest] = lanes[oldest][1:]
	}
	return out, nil
}

// ahead reads up to limit entries after a cursor, or from the beginning.
func (h *Hub) ahead(ctx context.Context, c log.Cursor, limit int) ([]log.Entry, error) {
	places, err := h.places()
	if err != nil {
		return nil, err
	}
	at, _, err := places.Place(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []log.Entry
	// A read may end with a window of the log and advance without entries, once.
	for empty := 0; len(all) < limit && empty < 2; {
		entries, next, err := h.b.Log.Read(ctx, c.Lane, at, limit-len(all))
		if err != nil {
			return nil, err
		}
		if empty++; len(entries) > 0 {
			empty = 0
		}
		all, at = append(all, entries...), next
	}
	return all, nil
}

// message returns the message of an entry. It is useful even without its metadata, which only a
// foreign writer can break.
func (h *Hub) message(e log.Entry) *message.Message {
	m, _ := decode(e, h.b.headers())
	return m.Watermill()
}
