package admissions

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/admissions.sql
var admissionsSQL string

type statements struct{ Add, Newest, NextOld, Edge, Forget string }

// Keep is how long a row is kept. MaxNewest bounds the rows that Newest returns.
const (
	Keep      = 7 * 24 * time.Hour
	MaxNewest = 500
)

const (
	forgetLease = "admission-retention"
	forgetBatch = 1000
)

// Config of a [Log].
type Config struct {
	// Holder names this process in the lease of the job that deletes old rows; required.
	Holder string
	// LeaseTTL is how long that lease lasts without a renewal; 10 s when zero.
	LeaseTTL time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// Admission is one user let in to one event.
type Admission struct {
	EventID, UserID string
	AdmittedAt      time.Time // by the clock of the waiting room's store
}

// Log keeps the rows. It is safe for concurrent use.
type Log struct {
	store *store.Store
	cfg   Config
	sql   statements
}

// New makes a Log on an open store.
func New(s *store.Store, cfg Config) (*Log, error) {
	if cfg.Holder == "" {
		return nil, errors.New("admissions: Config.Holder is empty; name this process")
	}
	cfg.LeaseTTL = cmp.Or(cfg.LeaseTTL, 10*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	l := &Log{store: s, cfg: cfg}
	if err := s.Load(admissionsSQL, &l.sql); err != nil {
		return nil, fmt.Errorf("admissions: %w", err)
	}
	return l, nil
}

// Add writes rows. An existing row is left unchanged.
func (l *Log) Add(ctx context.Context, all ...Admission) error {
	err := l.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, a := range all {
			if _, err := tx.ExecContext(ctx, l.sql.Add, a.EventID, a.UserID, a.AdmittedAt.UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("admissions: write: %w", err)
	}
	return nil
}

// Newest returns the newest admissions, the latest first: limit of them, 1 to
// MaxNewest.
func (l *Log) Newest(ctx context.Context, limit int) ([]Admission, error) {
	all, err := store.List(ctx, l.store.Reader(), l.sql.Newest, []any{min(max(limit, 1), MaxNewest)}, func(row *sql.Rows) (Admission, error) {
		var a Admission
		var at int64
		err := row.Scan(&a.EventID, &a.UserID, &at)
		a.AdmittedAt = time.UnixMilli(at).UTC()
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("admissions: read: %w", err)
	}
	return all, nil
}

// Run deletes rows that are older than Keep, while it has the lease of that job,
// until ctx ends.
func (l *Log) Run(ctx context.Context) error {
	return l.store.NewJob(forgetLease, l.cfg.Holder, l.cfg.LeaseTTL, l.cfg.Logger).Run(ctx, store.Work{
		Next: l.sql.NextOld,
		Do: func(ctx context.Context, lease store.Lease) (bool, error) {
			n, err := l.Forget(ctx, lease, forgetBatch)
			return n > 0, err
		},
	})
}

// Forget deletes the oldest of the rows that are older than Keep, about limit of them:
// rows of one moment are deleted together. When it fails with store.ErrLeaseLost, it
// has deleted nothing.
func (l *Log) Forget(ctx context.Context, lease store.Lease, limit int) (n int64, err error) {
	err = l.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n = 0
		if err := lease.Keep(ctx, tx, l.cfg.LeaseTTL); err != nil {
			return err
		}
		var edge sql.NullInt64
		if err := tx.QueryRowContext(ctx, l.sql.Edge, limit).Scan(&edge); err != nil || !edge.Valid {
			return err
		}
		res, err := tx.ExecContext(ctx, l.sql.Forget, edge.Int64)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("admissions: forget: %w", err)
	}
	return n, nil
}
