package app

import (
	"context"
	"database/sql"
	"slices"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/sqltx"
)

// consumers handle the events of all groups. The key of an event, its effect and the
// events that follow from it are one transaction.
type consumers struct {
	all   []store.Consumer
	store *store.Store

	// Set by connect.
	runner *bus.Runner
	guards map[ops.Consumer]metrics.Guard
	prune  func(context.Context) error // deletes old idempotency keys
}

func newConsumers(b *base, all ...[]store.Consumer) *consumers {
	return &consumers{all: slices.Concat(all...), store: b.store}
}

// connect gives each consumer its guard, and the runner all of them.
func (c *consumers) connect(b *base, operator *ops.Ops, mirror *artists) error {
	keys, err := sqlidempotency.New(b.store.DB(), sqlidempotency.Config{Dialect: sqltx.Dialect(b.store.Dialect())})
	if err != nil {
		return err
	}
	if err := keys.Migrate(context.Background()); err != nil {
		return err
	}
	c.prune = func(ctx context.Context) error {
		return idempotency.RunPruner(ctx, keys, idempotency.PrunerConfig{Logger: b.log})
	}
	c.runner, err = bus.NewRunner(b.bus, bus.RunnerConfig{DrainTimeout: b.opt.Drain, Logger: b.log, WorkerID: b.holder, Hooks: operator.Hooks(), TracerProvider: b.tracing})
	if err != nil {
		return err
	}
	c.guards = map[ops.Consumer]metrics.Guard{}
	for _, one := range c.all {
		guard, err := idempotency.New[*sql.Tx](keys, idempotency.Config{Group: one.Group, Key: one.Key})
		if err != nil {
			return err
		}
		c.guards[operated(one)] = guard
		if err := c.runner.Add(c.consumer(one, guard)); err != nil {
			return err
		}
	}
	if mirror != nil && mirror.worker != nil {
		return c.runner.Add(mirror.worker.Pair(operator.Lags()))
	}
	return nil
}

// status is what the consumers do now.
func (c *consumers) status() []bus.ConsumerStatus { return c.runner.Status() }

// consumer is a consumer as the runner takes it.
func (c *consumers) consumer(of store.Consumer, guard *idempotency.Guard[*sql.Tx]) bus.AnyConsumer {
	if of.Batch != nil {
		return c.batchConsumer(of, guard)
	}
	handlers := make(map[string]bus.EventHandler, len(of.Handlers))
	for typ, h := range of.Handlers {
		handlers[typ] = c.guarded(guard, of.Group, h)
	}
	return bus.Consumer{
		Topic: of.Topic, Group: of.Group, Handler: bus.ByType(handlers),
		Retry: retry(of.Topic), DeadLetter: deadLetters(of.Topic, of.Group),
		Classifiers: []fault.Classifier{c.store.Classify}, Hooks: hooks(of),
	}
}

func hooks(c store.Consumer) (h bus.Hooks) {
	if c.GaveUp != nil {
		h.OnDeadLetter = func(bus.Report) { c.GaveUp() }
	}
	return h
}

// duplicates is how many messages a consumer skipped as already handled; artists have
// versions instead.
func (c *consumers) duplicates(of ops.Consumer) int64 {
	if guard := c.guards[of]; guard != nil {
		return guard.Stats().Duplicates
	}
	return 0
}

// guarded makes one transaction of the idempotency key, the handler's effect, the
// events that follow from it and the line in the audit trail. Handlers that run at
// the same time share a commit.
func (c *consumers) guarded(guard *idempotency.Guard[*sql.Tx], group string, h store.Handler) bus.EventHandler {
	return func(ctx context.Context, e event.Event) error {
		return c.store.Write(ctx, func(ctx context.Context, _ *sql.Tx) error {
			_, err := guard.Do(ctx, e, func(ctx context.Context, tx *sql.Tx) error {
				effect, err := h(ctx, tx, e)
				if err != nil {
					return err
				}
				return c.store.RecordEffects(ctx, tx, group, effect, e)
			})
			return err
		})
	}
}

// batchConsumer makes one transaction of a batch: its idempotency keys, its effect
// and its lines in the audit trail.
func (c *consumers) batchConsumer(of store.Consumer, guard *idempotency.Guard[*sql.Tx]) bus.BatchConsumer {
	handle := func(ctx context.Context, all []event.Event) error {
		good, places, refused := checked(of, all)
		if len(good) == 0 {
			return refused.OrNil()
		}
		err := c.store.Write(ctx, func(ctx context.Context, _ *sql.Tx) error {
			_, err := guard.DoBatch(ctx, good, func(ctx context.Context, tx *sql.Tx, fresh []event.Event) error {
				return c.effectOf(ctx, tx, of, fresh)
			})
			return err
		})
		if err != nil && len(refused) == 0 {
			return err
		}
		if err != nil {
			// A message that can never be handled is not retried with the rest.
			for _, i := range places {
				refused[i] = err
			}
		}
		return refused.OrNil()
	}
	return bus.BatchConsumer{
		Topic: of.Topic, Group: of.Group, Handler: bus.HandleBatch(handle, of.BatchTypes...), Wait: of.Wait,
		Retry: retry(of.Topic), DeadLetter: deadLetters(of.Topic, of.Group),
		Classifiers: []fault.Classifier{c.store.Classify}, Hooks: hooks(of),
	}
}

// checked picks the events that can be handled, and returns their positions.
func checked(c store.Consumer, all []event.Event) (good []event.Event, places []int, refused bus.BatchError) {
	refused = bus.BatchError{}
	for i, e := range all {
		if c.Check != nil {
			if err := c.Check(e); err != nil {
				refused[i] = err
				continue
			}
		}
		good, places = append(good, e), append(places, i)
	}
	return good, places, refused
}

func (c *consumers) effectOf(ctx context.Context, tx *sql.Tx, of store.Consumer, fresh []event.Event) error {
	effect, err := of.Batch(ctx, tx, fresh)
	if err != nil {
		return err
	}
	return c.store.RecordEffects(ctx, tx, of.Group, effect, fresh...)
}
