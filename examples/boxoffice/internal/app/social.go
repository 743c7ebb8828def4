package app

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
	"github.com/millrace-go/millrace/counter/rediscounter"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog/rediscopy"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/social"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
)

// buildSocial makes the parts for the members' actions around a show.
func (a *App) buildSocial(opened *closers) error {
	deltas, err := a.deltas(opened)
	if err != nil {
		return err
	}
	a.social, err = social.New(a.store, a.catalog, a.outbox, deltas, social.Config{Holder: a.holder, Logger: a.log})
	if err != nil {
		return err
	}
	a.catalog.SetPending(a.social.Pending)
	if err := a.social.Migrate(context.Background()); err != nil {
		return err
	}
	return a.social.Open(context.Background())
}

// deltas has the comments that are not counted yet: in Redis, for all processes, or
// in this process: then only the workers' own processes show the uncounted comments.
func (a *App) deltas(opened *closers) (driver.Store, error) {
	if a.cfg.RoomInMemory() || !a.cfg.Has(config.RoleAPI) && !a.cfg.Has(config.RoleWorker) {
		return memcounter.New(), nil
	}
	client, err := a.openRedis(opened)
	if err != nil {
		return nil, err
	}
	return rediscounter.New(client, rediscounter.Config{Prefix: a.cfg.RedisPrefix})
}

// shareShows makes the processes share their reads of the shows, if there is a Redis.
func (a *App) shareShows(opened *closers) error {
	if a.cfg.RoomInMemory() {
		return nil
	}
	client, err := a.openRedis(opened)
	if err != nil {
		return err
	}
	a.catalog.SetCopies(rediscopy.New(client, a.cfg.RedisPrefix), a.log)
	return nil
}

func (a *App) startSocial(run *stages) {
	run.start("votes", a.social.Run)
	run.start("comment counts", a.social.RunCounts)
}

// batchConsumer makes one transaction of a batch: its idempotency keys, its effect
// and its lines in the audit trail.
func (a *App) batchConsumer(c store.Consumer, guard *idempotency.Guard[*sql.Tx]) bus.BatchConsumer {
	handle := func(ctx context.Context, all []event.Event) error {
		good, places, refused := checked(c, all)
		if len(good) == 0 {
			return refused.OrNil()
		}
		err := a.store.Write(ctx, func(ctx context.Context, _ *sql.Tx) error {
			_, err := guard.DoBatch(ctx, good, func(ctx context.Context, tx *sql.Tx, fresh []event.Event) error {
				return a.effectOf(ctx, tx, c, fresh)
			})
			return err
		})
		if err != nil && len(places) < len(all) {
			// A message that can never be handled is not retried with the rest.
			for _, i := range places {
				refused.Add(i, err)
			}
			return refused
		}
		if err != nil {
			return err
		}
		return refused.OrNil()
	}
	return bus.BatchConsumer{
		Topic: c.Topic, Group: c.Group, Handler: bus.HandleBatch(handle, c.BatchTypes...),
		Retry: retry(c.Topic), DeadLetter: deadLetters(c.Topic),
		Classifiers: []fault.Classifier{a.store.Classify}, Hooks: hooks(c),
	}
}

// checked picks the events that can be handled, and returns their positions.
func checked(c store.Consumer, all []event.Event) (good []event.Event, places []int, refused *bus.BatchError) {
	refused = &bus.BatchError{}
	for i, e := range all {
		if c.Check != nil {
			if err := c.Check(e); err != nil {
				refused.Add(i, err)
				continue
			}
		}
		good, places = append(good, e), append(places, i)
	}
	return good, places, refused
}

func (a *App) effectOf(ctx context.Context, tx *sql.Tx, c store.Consumer, fresh []event.Event) error {
	effect, err := c.Batch(ctx, tx, fresh)
	if err != nil {
		return err
	}
	for _, e := range fresh {
		if err := a.store.RecordEffect(ctx, tx, c.Group, e, effect); err != nil {
			return err
		}
	}
	return nil
}
