package artist

import (
	"context"
	"database/sql"
	"sync"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// askers ask the questions that reads queued.
type askers struct {
	*desk
	requests *Requests
}

// run asks several at once, until ctx ends.
func (a *askers) run(ctx context.Context) {
	var parts sync.WaitGroup
	for range a.cfg.Askers {
		parts.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case q := <-a.asks.queue:
					a.answer(ctx, q)
				}
			}
		})
	}
	parts.Wait()
}

// answer asks one question. A failure is logged when it is the first of a row.
func (a *askers) answer(ctx context.Context, q ask) {
	if _, err := a.ask(ctx, q); err != nil {
		a.keep(ctx, q)
		return
	}
	a.asks.accepted(q.id)
	if !q.unknown {
		return
	}
	// From now on a read anywhere finds UPDATING. Should this fail, it finds
	// NOT_FOUND a little longer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.AskTimeout)
	defer cancel()
	err := a.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, a.sql.Wanted, q.id)
		return err
	})
	if err != nil {
		a.cfg.Logger.Warn("an artist was asked for and not noted", "artist", q.id, "error", err)
	}
}

// keep has a refused question written to the table, from which it is repeated. An asker
// waits for room: its next question would be refused too.
func (a *askers) keep(ctx context.Context, q ask) {
	for {
		full := a.asks.again(q)
		if full == nil {
			return
		}
		select {
		case <-ctx.Done():
			a.asks.rest(q)
			return
		case <-full:
		}
	}
}

// ask asks one question, and reports whether this call published the request.
func (a *askers) ask(ctx context.Context, q ask) (published bool, err error) {
	// A question that has begun is not cut short: its event may be half sent.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.AskTimeout)
	defer cancel()
	published, err = a.requests.request(event.WithCorrelation(ctx, q.request), q.id, event.High, q.reason)
	first := a.asks.answered(err)
	if err != nil {
		a.metrics.count(func(s *Stats) { s.Refused++ })
		if first {
			a.cfg.Logger.Warn("refreshes cannot be asked for; reads go on with what there is", "error", err)
		}
		return false, err
	}
	a.metrics.count(func(s *Stats) { s.Asked++ })
	return published, nil
}

// requestID is the id of the request of ctx, for the event that it asks for.
func requestID(ctx context.Context) string {
	id, _ := events.Causes(ctx)
	return id
}
