package artist

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/event"
)

// run asks what reads queued, several at once.
func (m *Mirror) run(ctx context.Context) {
	var parts sync.WaitGroup
	for range m.cfg.Askers {
		parts.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case q := <-m.asks.queue:
					m.answer(ctx, q)
				}
			}
		})
	}
	parts.Go(func() { m.keepTouching(ctx) })
	parts.Wait()
}

// answer asks one question. A failure is logged when it is the first of a row.
func (m *Mirror) answer(ctx context.Context, q ask) {
	// One that has begun is not cut short: an event may be half-way out.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.AskTimeout)
	defer cancel()
	_, _, before := m.asks.standing()
	err := m.request(ctx, q.id, event.High, q.reason)
	m.asks.answered(q.id, err)
	if err != nil {
		m.metrics.refused.Add(1)
		if !before {
			m.cfg.Logger.Warn("refreshes cannot be asked for; reads go on with what there is", "error", err)
		}
		return
	}
	m.metrics.asked.Add(1)
	if !q.unknown {
		return
	}
	// From now on a read anywhere finds UPDATING. Should this fail, it finds
	// NOT_FOUND a little longer.
	err = m.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, m.sql.Wanted, q.id)
		return err
	})
	if err != nil {
		m.cfg.Logger.Warn("an artist was asked for and not noted", "artist", q.id, "error", err)
	}
}

// request asks the coalescer for a refresh and publishes it if it is ours to.
func (m *Mirror) request(ctx context.Context, id string, p event.Priority, reason Reason) error {
	_, err := m.coalescer.Do(ctx, id, coalesce.Priority(p), func(ctx context.Context, version int64) error {
		return m.publish(ctx, id, p, reason, version)
	})
	return err
}

func (m *Mirror) publish(ctx context.Context, id string, p event.Priority, reason Reason, version int64) error {
	e, err := newRequest(id, p, reason, version)
	if err != nil {
		return fmt.Errorf("artist: %w", err)
	}
	msg, err := event.Structured{}.Encode(e)
	if err != nil {
		return fmt.Errorf("artist: %w", err)
	}
	msg.SetContext(ctx)
	return m.publisher.Publish(topicOf(p), msg)
}
