package ops

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

const (
	// maxShown bounds how many breaches a check lists; the rest are counted.
	maxShown = 5
	// holdGrace is how long a hold may still be PENDING after its end, or after the limit of
	// its payment. A payment or refund may be in flight for that limit.
	holdGrace = 30 * time.Second
	// countGrace is how long after the last comment on a show its count may be wrong.
	countGrace = 30 * time.Second
)

// paid is a payment as the gateway's ledger should show it.
type paid struct {
	id, status, refund, failure string
	amount                      int64
}

// tables is the result of one snapshot of the database.
type tables struct {
	checks   []Check
	moving   int
	payments map[string]paid // by key
}

// tables runs the checks on one snapshot.
func (b *Books) tables(ctx context.Context) (tables, error) {
	t, err := b.readTables(ctx)
	if err != nil {
		return tables{}, fmt.Errorf("ops: audit: %w", err)
	}
	return t, nil
}

func (b *Books) readTables(ctx context.Context) (t tables, err error) {
	tx, err := b.store.Reader().BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return t, err
	}
	defer tx.Rollback() //nolint:errcheck // it only read
	var successes, refunds, confirmed, sold int64
	if err := tx.QueryRowContext(ctx, b.sql.Balance).Scan(&successes, &refunds, &confirmed, &sold); err != nil {
		return t, err
	}
	grace, limit, late := holdGrace.Milliseconds(), b.paymentLimit.Milliseconds(), countGrace.Milliseconds()
	if t.moving, err = b.moving(ctx, tx); err != nil {
		return t, err
	}
	for _, c := range []struct {
		name, query, sound string
		args               []any
	}{
		{"sold-seats", b.sql.SoldSeats, fmt.Sprintf("%d sold seats are those of %d confirmed reservations", sold, confirmed), nil},
		{"seat-sold-once", b.sql.SeatSoldOnce, "", nil},
		{"held-seats", b.sql.HeldSeats, "", nil},
		{"money", b.sql.Money, fmt.Sprintf("%d successes − %d refunds = %d confirmed reservations", successes, refunds, confirmed), nil},
		{"statistics", b.sql.Statistics, "", nil},
		{"handled-once", b.sql.HandledOnce, "", nil},
		{"nothing-lost", b.sql.NothingLost, "", nil},
		{"nothing-stuck", b.sql.NothingStuck, "", []any{grace, limit}},
		{"comment-counts", b.sql.CommentCounts, "", []any{late}},
		{"chat-places", b.sql.ChatPlaces, "", nil},
	} {
		breaches, err := store.Column(ctx, tx, c.query, c.args...)
		if err != nil {
			return t, fmt.Errorf("%s: %w", c.name, err)
		}
		t.checks = append(t.checks, check(c.name, c.sound, breaches))
	}
	t.payments, err = readPayments(ctx, tx, b.sql.Payments)
	return t, err
}

// moving counts what is under way in the tables.
func (b *Books) moving(ctx context.Context, q store.RowQuerier) (n int, err error) {
	err = q.QueryRowContext(ctx, b.sql.Moving, countGrace.Milliseconds()).Scan(&n)
	return n, err
}

// check makes a Check of the breaches that were found.
func check(name, sound string, breaches []string) Check {
	if len(breaches) == 0 {
		return Check{Name: name, OK: true, Detail: sound}
	}
	detail := strings.Join(breaches[:min(len(breaches), maxShown)], "; ")
	if more := len(breaches) - maxShown; more > 0 {
		detail += fmt.Sprintf("; and %d more", more)
	}
	return Check{Name: name, Detail: detail}
}

func readPayments(ctx context.Context, tx *sql.Tx, query string) (map[string]paid, error) {
	all := map[string]paid{}
	return all, store.Each(ctx, tx, query, nil, func(row *sql.Rows) error {
		var key string
		var p paid
		err := row.Scan(&key, &p.id, &p.status, &p.amount, &p.refund, &p.failure)
		all[key] = p
		return err
	})
}
