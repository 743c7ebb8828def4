package migrating

import (
	"context"
	"database/sql"
	"fmt"
)

// Side is where a transaction writes its events.
type Side string

// The sides.
const (
	Old Side = "old" // the outbox that is to go
	New Side = "new" // package outbox
)

// Switch is a row that says to which side transactions write. Each transaction
// reads the row first. Turn waits for all transactions that have read the other
// side. Until it is done, no other transaction can read the row. So there is one
// moment: before it every event is on one side, after it every event is on the other.
type Switch struct {
	// Postgres takes an advisory lock, for which transactions queue in order; they
	// must be READ COMMITTED. When false, the database is SQLite, whose write
	// transactions exclude each other (_txlock=immediate).
	Postgres bool
}

// lock is any number that the application uses for no other advisory lock.
const lock = 7_305_421

// Make makes the row, on the old side.
func (Switch) Make(ctx context.Context, db *sql.DB) error {
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS outbox_switch (id INTEGER PRIMARY KEY, side TEXT NOT NULL)`,
		`INSERT INTO outbox_switch (id, side) VALUES (1, 'old') ON CONFLICT DO NOTHING`,
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make the switch: %w", err)
		}
	}
	return nil
}

// Side returns where the transaction writes. It must be the transaction's first
// statement: before it holds any row that another one may wait for.
func (s Switch) Side(ctx context.Context, tx *sql.Tx) (side Side, err error) {
	if s.Postgres {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock_shared($1)`, lock); err != nil {
			return "", fmt.Errorf("wait for the switch: %w", err)
		}
	}
	if err := tx.QueryRowContext(ctx, `SELECT side FROM outbox_switch WHERE id = 1`).Scan(&side); err != nil {
		return "", fmt.Errorf("read the switch: %w", err)
	}
	return side, nil
}

// Turn makes all transactions that begin from now on write to the side, and returns
// when no transaction that writes to the other side is open.
func (s Switch) Turn(ctx context.Context, db *sql.DB, to Side) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("turn the switch: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // no-op after the commit
	if s.Postgres {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, lock); err != nil {
			return fmt.Errorf("turn the switch: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE outbox_switch SET side = $1 WHERE id = 1`, to); err != nil {
		return fmt.Errorf("turn the switch: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("turn the switch: %w", err)
	}
	return nil
}
