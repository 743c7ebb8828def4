package logbus

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

// Pending implements driver.Pender: it reads like the group, without a lease. Messages of different
// partitions are merged by the time of their publication.
func (d *Driver) Pending(ctx context.Context, name, group string, limit int) ([]*message.Message, error) {
	topic, ok, err := d.Topic(ctx, name)
	if err != nil || !ok || limit <= 0 {
		return nil, err
	}
	lanes := make([][]log.Entry, topic.Partitions)
	for i := range lanes {
		if lanes[i], err = d.ahead(ctx, log.Cursor{Consumer: group, Lane: topic.FirstLane + i}, limit); err != nil {
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
		// The message is useful even without its metadata.
		m, _ := logsub.Decode(lanes[oldest][0])
		out = append(out, m)
		lanes[oldest] = lanes[oldest][1:]
	}
	return out, nil
}

// ahead reads up to limit entries after a cursor, or from the beginning.
func (d *Driver) ahead(ctx context.Context, c log.Cursor, limit int) ([]log.Entry, error) {
	at, _, err := d.dir.Place(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []log.Entry
	// A read may end with a window of the log and advance without entries, once.
	for empty := 0; len(all) < limit && empty < 2; {
		entries, next, err := d.parts.Log.Read(ctx, c.Lane, at, limit-len(all))
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
