package doorbench

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/membus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/postgres"
	"github.com/millrace-go/millrace/sqltx"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func row(ctx context.Context, tx *sql.Tx, p placed) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO orders VALUES ($1, $2)`, p.ID, p.Cents)
	return err
}

// byFrontDoor is the program on package millrace.
func byFrontDoor(db *sql.DB) (program, error) {
	app, err := millrace.New(postgres.SQL(db), millrace.Config{Service: "shop", Bus: "mem://", Logger: quiet}, membus.Scheme())
	if err != nil {
		return program{}, err
	}
	return program{
		migrate: app.Migrate,
		emit: func(ctx context.Context, p placed) error {
			return app.Do(ctx, func(ctx context.Context, tx *sql.Tx) error {
				return errors.Join(row(ctx, tx, p), app.Emit(ctx, tx, p))
			})
		},
		handle: func(ctx context.Context, effect func(context.Context, *sql.Tx, placed) error) error {
			millrace.Handle(app, "totals", effect)
			return app.Run(ctx)
		},
		close: app.Close,
	}, nil
}

// byHand is the program on the packages that the front door wires.
func byHand(db *sql.DB) (program, error) {
	store, err := pgoutbox.New(db, pgoutbox.Config{})
	if err != nil {
		return program{}, err
	}
	box, err := outbox.New(store, outbox.Config{Topic: "orders", Logger: quiet})
	if err != nil {
		return program{}, err
	}
	keys, err := sqlidempotency.New(db, sqlidempotency.Config{Dialect: sqltx.Postgres})
	if err != nil {
		return program{}, err
	}
	guard, err := idempotency.New[*sql.Tx](keys, idempotency.Config{Group: "totals"})
	if err != nil {
		return program{}, err
	}
	return program{
		migrate: func(ctx context.Context) error { return errors.Join(store.Migrate(ctx), keys.Migrate(ctx)) },
		emit: func(ctx context.Context, p placed) error {
			e, err := event.New("Placed", "shop", p)
			if err != nil {
				return err
			}
			e.AggregateID = p.Customer
			return sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
				return errors.Join(row(ctx, tx, p), box.Append(ctx, tx, e))
			})
		},
		handle: func(ctx context.Context, effect func(context.Context, *sql.Tx, placed) error) error {
			b, err := bus.Open(ctx, "mem://", membus.Scheme())
			if err != nil {
				return err
			}
			relay, err := outbox.NewRelay(store, b.Publisher(), outbox.RelayConfig{Logger: quiet})
			if err != nil {
				return err
			}
			runner, err := bus.NewRunner(b, bus.RunnerConfig{Logger: quiet})
			if err != nil {
				return err
			}
			err = runner.Add(bus.Consumer{
				Topic: "orders", Group: "totals", Classifiers: nil,
				Guarded: guard.ByType(map[string]idempotency.EventHandler[*sql.Tx]{"Placed": func(ctx context.Context, tx *sql.Tx, e event.Event) error {
					var p placed
					if err := e.UnmarshalData(&p); err != nil {
						return err
					}
					return effect(ctx, tx, p)
				}}),
			})
			if err != nil {
				return err
			}
			group, ctx := errgroup.WithContext(ctx)
			group.Go(func() error { return relay.Run(ctx) })
			group.Go(func() error { return runner.Run(ctx) })
			if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return b.Close()
		},
		close: func() error { return box.Close(context.Background()) },
	}, nil
}
