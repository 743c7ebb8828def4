// Command pgx is the program orders on a pgxpool: its transactions are pgx.Tx.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/postgres"
)

const tables = `CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, customer text, cents bigint);
	CREATE TABLE IF NOT EXISTS totals (customer text PRIMARY KEY, cents bigint)`

type OrderPlaced struct {
	ID, Customer string
	Cents        int64
}

func (o OrderPlaced) Spec() millrace.Spec { return millrace.On("orders", "OrderPlaced", o.Customer) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	pool, err := pgxpool.New(ctx, os.Getenv("MILLRACE_DB_URL"))
	if err != nil {
		return err
	}
	defer pool.Close()
	app, err := millrace.New(postgres.Pool(pool), millrace.Config{Service: "orders"}, kafkabus.Scheme(kafkabus.Config{}))
	if err != nil {
		return err
	}
	defer app.Close()
	if err := errors.Join(app.Migrate(ctx), app.Do(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, tables)
		return err
	})); err != nil {
		return err
	}
	millrace.Handle(app, "totals", func(ctx context.Context, tx pgx.Tx, o OrderPlaced) error {
		_, err := tx.Exec(ctx, `INSERT INTO totals VALUES ($1, $2)
			ON CONFLICT (customer) DO UPDATE SET cents = totals.cents + excluded.cents`, o.Customer, o.Cents)
		return err
	})
	http.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var o OrderPlaced
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		} else if err := app.Do(r.Context(), func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `INSERT INTO orders VALUES ($1, $2, $3)`, o.ID, o.Customer, o.Cents); err != nil {
				return err
			}
			return app.Emit(ctx, tx, o)
		}); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	server := &http.Server{Addr: os.Getenv("ADDR"), Handler: millrace.Wrap(http.DefaultServeMux)}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return app.Run(ctx) })
	group.Go(server.ListenAndServe)
	group.Go(func() error { <-ctx.Done(); return server.Shutdown(context.WithoutCancel(ctx)) })
	if err := group.Wait(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
