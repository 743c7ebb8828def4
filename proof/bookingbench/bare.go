package bookingbench

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/together"
)

var (
	//go:embed sql/reset.sql
	resetSQL string
	//go:embed sql/lock.sql
	lockSQL string
	//go:embed sql/allowance.sql
	allowanceSQL string
	//go:embed sql/deadline.sql
	deadlineSQL string
	//go:embed sql/hold.sql
	holdSQL string
	//go:embed sql/price.sql
	priceSQL string
	//go:embed sql/insert.sql
	insertSQL string
	//go:embed sql/keep.sql
	keepSQL string
)

// bookBare books the same seats by the statements of a booking alone, as fast as so
// many connections can, and returns the rate per second.
func bookBare(ctx context.Context, cfg Config, at place.Place, connections int) (rate float64, err error) {
	db, err := at.Open()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	var booked int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM reservations`).Scan(&booked); err != nil {
		return 0, err
	}
	if booked != cfg.Bookings {
		return 0, fmt.Errorf("the database has %d bookings, and %d were answered", booked, cfg.Bookings)
	}
	if _, err := db.ExecContext(ctx, resetSQL); err != nil {
		return 0, fmt.Errorf("reset the hall: %w", err)
	}
	if _, err := db.ExecContext(ctx, `VACUUM ANALYZE seats`); err != nil {
		return 0, err
	}
	if err := at.Settle(ctx); err != nil {
		return 0, err
	}
	// The connections are made before the time begins.
	if err := together.Share(connections, connections, func(int) error { return db.PingContext(ctx) }); err != nil {
		return 0, err
	}
	start := time.Now()
	all := seats(cfg.Bookings)
	err = together.Share(len(all), connections, func(i int) error { return bare(ctx, db, member(i), all[i]) })
	return float64(cfg.Bookings) / time.Since(start).Seconds(), err
}

// bare is one booking.
func bare(ctx context.Context, db *sql.DB, member string, s seat) error {
	const hold = 300_000
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // no-op after the commit
	var locked string
	if err := tx.QueryRowContext(ctx, lockSQL, member).Scan(&locked); err != nil {
		return err
	}
	var maxHeld, maxBought, has, bought int
	if err := tx.QueryRowContext(ctx, allowanceSQL, member, s.show).Scan(&maxHeld, &maxBought, &has, &bought); err != nil {
		return err
	}
	var ends, amount int64
	if err := tx.QueryRowContext(ctx, deadlineSQL, hold).Scan(&ends); err != nil {
		return err
	}
	held, err := tx.ExecContext(ctx, holdSQL, id.String(), ends, s.show, s.id)
	if err != nil {
		return err
	}
	if n, err := held.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("%s of %s: %d seats are held (%w)", s.id, s.show, n, err)
	}
	if err := tx.QueryRowContext(ctx, priceSQL, id.String()).Scan(&amount); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, insertSQL, id.String(), s.show, member, amount, ends, ends-hold); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, keepSQL, id.String()); err != nil {
		return err
	}
	return tx.Commit()
}
