package mirrorrun

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
)

//go:embed sql/load.sql
var loadSQL string

// demand keeps artists due for a refresh: without it a mirror that has caught up
// would be idle for an hour.
type demand struct {
	store *store.Store
	sql   struct{ Seed, AgeHigh, AgeLow, Rest string }
	high  []string // asked for by reads; prefetch asks for the others
	log   *slog.Logger
}

func newDemand(s *store.Store, log *slog.Logger) (*demand, error) {
	d := &demand{store: s, log: log}
	if err := s.Load(loadSQL, &d.sql); err != nil {
		return nil, fmt.Errorf("mirror-run: %w", err)
	}
	return d, nil
}

// forReads reports whether reads ask for an artist: a fifth of them are.
func forReads(id string) bool { return id[0] == '8' || id[0] == '9' }

// seed makes all artists known and due.
func (d *demand) seed(ctx context.Context) error {
	err := d.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		d.high = nil
		for n := 1; n <= upstream.Artists; n++ {
			id, prefetched := strconv.Itoa(n), int64(0)
			if forReads(id) {
				d.high, prefetched = append(d.high, id), time.Now().Add(24*time.Hour).UnixMilli()
			}
			if _, err := tx.ExecContext(ctx, d.sql.Seed, id, prefetched); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("mirror-run: make artists: %w", err)
	}
	return nil
}

// keep makes the artists that were looked up due again, until ctx ends. While low is
// set, for prefetch too.
func (d *demand) keep(ctx context.Context, low bool) {
	statements := []string{d.sql.AgeHigh}
	if low {
		statements = append(statements, d.sql.AgeLow)
	}
	signal.Every(ctx, time.Second, func(ctx context.Context) {
		for _, s := range statements {
			if err := d.exec(ctx, s); err != nil && ctx.Err() == nil { // a worker had the rows; the next second has them
				d.log.Info("artists were not made due", "error", err)
			}
		}
	})
}

// rest ends the work of prefetch. The workers are still writing the same rows, in an
// order of their own: of two that wait for each other, one is refused.
func (d *demand) rest(ctx context.Context) error {
	err := d.exec(ctx, d.sql.Rest)
	for try := 1; err != nil && try < 10 && ctx.Err() == nil; try++ {
		err = d.exec(ctx, d.sql.Rest)
	}
	if err != nil {
		return fmt.Errorf("mirror-run: end the prefetch: %w", err)
	}
	return nil
}

func (d *demand) exec(ctx context.Context, statement string) error {
	return d.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement)
		return err
	})
}
