package artist

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// run asks the questions that reads queued, several at once. Questions queued when ctx
// ends are stored, for another process or the next one of this.
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
	parts.Go(func() { m.keepDeferring(ctx) })
	parts.Go(func() { m.keepRepeating(ctx) })
	parts.Wait()
	m.asks.rest()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.AskTimeout)
	defer cancel()
	if err := m.deferAll(last); err != nil {
		waiting, _, _ := m.asks.standing()
		m.cfg.Logger.Warn("refreshes that were queued are forgotten; the next reads ask for them", "artists", waiting, "error", err)
	}
}

// answer asks one question. A failure is logged when it is the first of a row.
func (m *Mirror) answer(ctx context.Context, q ask) {
	if _, err := m.ask(ctx, q); err != nil {
		m.keep(ctx, q)
		return
	}
	m.asks.accepted(q.id)
	if !q.unknown {
		return
	}
	// From now on a read anywhere finds UPDATING. Should this fail, it finds
	// NOT_FOUND a little longer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.AskTimeout)
	defer cancel()
	err := m.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, m.sql.Wanted, q.id)
		return err
	})
	if err != nil {
		m.cfg.Logger.Warn("an artist was asked for and not noted", "artist", q.id, "error", err)
	}
}

// keep has a refused question written to the table, from which it is repeated. An asker
// waits for room: its next question would be refused too.
func (m *Mirror) keep(ctx context.Context, q ask) {
	for {
		full := m.asks.again(q)
		if full == nil {
			return
		}
		select {
		case <-ctx.Done():
			m.asks.rest(q)
			return
		case <-full:
		}
	}
}

// ask asks one question, and reports whether this call published the request.
func (m *Mirror) ask(ctx context.Context, q ask) (published bool, err error) {
	// A question that has begun is not cut short: its event may be half sent.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.AskTimeout)
	defer cancel()
	published, err = m.request(event.WithCorrelation(ctx, q.request), q.id, event.High, q.reason)
	first := m.asks.answered(err)
	if err != nil {
		m.metrics.refused.Add(1)
		if first {
			m.cfg.Logger.Warn("refreshes cannot be asked for; reads go on with what there is", "error", err)
		}
		return false, err
	}
	m.metrics.asked.Add(1)
	return published, nil
}

// requestID is the id of the request of ctx, for the event that it asks for.
func requestID(ctx context.Context) string {
	id, _ := events.Causes(ctx)
	return id
}

// request asks the coalescer for a refresh, publishes it if this call is to, and
// reports that.
func (m *Mirror) request(ctx context.Context, id string, p event.Priority, reason Reason) (published bool, err error) {
	d, err := m.coalescer.Do(ctx, id, coalesce.Priority(p), func(ctx context.Context, version int64) error {
		return m.publish(ctx, id, p, reason, version)
	})
	return err == nil && d.Mine(), err
}

func (m *Mirror) publish(ctx context.Context, id string, p event.Priority, reason Reason, version int64) error {
	e, err := newRequest(id, p, reason, version)
	if err != nil {
		return fmt.Errorf("artist: %w", err)
	}
	msg, err := event.Structured{}.Encode(e.In(ctx))
	if err != nil {
		return fmt.Errorf("artist: %w", err)
	}
	msg.SetContext(ctx)
	return m.publisher.Publish(topicOf(p), msg)
}
