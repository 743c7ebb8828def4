package outboxbench

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/millrace-go/millrace/proof/place"
)

// riverQueue is River with the fetch settings of its own benchmark.
type riverQueue struct{ db place.Place }

func (riverQueue) name() string      { return "River v0.51.0 (2,000 workers, fetch every 2 ms)" }
func (r riverQueue) at() place.Place { return r.db }

// outboxJob is one event as a River job.
type outboxJob struct {
	ID      string `json:"id"`
	Payload []byte `json:"payload"`
}

func (outboxJob) Kind() string { return "outbox" }

type outboxWorker struct {
	river.WorkerDefaults[outboxJob]
	sink Sink
}

func (w *outboxWorker) Work(_ context.Context, job *river.Job[outboxJob]) error {
	w.sink(job.Args.ID)
	return nil
}

func (r riverQueue) pool(ctx context.Context) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(r.db.URL)
	if err != nil {
		return nil, errors.New("the PostgreSQL URL does not parse")
	}
	cfg.MaxConns = 16
	return pgxpool.NewWithConfig(ctx, cfg)
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func (r riverQueue) fill(ctx context.Context, n int, payload []byte) error {
	if err := r.db.Recreate(ctx); err != nil {
		return err
	}
	pool, err := r.pool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quiet(), Schema: r.db.Name})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: quiet(), Schema: r.db.Name})
	if err != nil {
		return err
	}
	for done := 0; done < n; {
		batch := make([]river.InsertManyParams, min(1000, n-done))
		for i := range batch {
			batch[i].Args = outboxJob{ID: uuid.NewString(), Payload: payload}
		}
		if _, err := client.InsertManyFast(ctx, batch); err != nil {
			return err
		}
		done += len(batch)
	}
	return nil
}

func (r riverQueue) relay(ctx context.Context, sink Sink) error {
	pool, err := r.pool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	workers := river.NewWorkers()
	river.AddWorker(workers, &outboxWorker{sink: sink})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Logger:            quiet(),
		Schema:            r.db.Name,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}},
		Workers:           workers,
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	<-client.Stopped()
	return nil
}

func (r riverQueue) appender(ctx context.Context) (func([]byte) (string, error), func(), error) {
	pool, err := r.pool(ctx)
	if err != nil {
		return nil, nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: quiet(), Schema: r.db.Name})
	if err != nil {
		return nil, nil, err
	}
	return func(payload []byte) (string, error) {
		id := uuid.NewString()
		return id, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := client.InsertTx(ctx, tx, outboxJob{ID: id, Payload: payload}, nil)
			return err
		})
	}, pool.Close, nil
}
