package gateway

import (
	"context"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
	"github.com/millrace-go/millrace/sqltx"
)

//go:embed sql/schema.sql
var schemaSQL string

//go:embed sql/totals.sql
var totalsSQL string

// Status of a charge.
type Status string

// The states of a charge. Pending becomes Approved; the others are final.
const (
	Approved Status = "APPROVED"
	Declined Status = "DECLINED"
	Pending  Status = "PENDING"
)

// Charge is one row of the ledger as the API shows it.
type Charge struct {
	Key        string     `json:"key"`
	ID         string     `json:"id"`
	Status     Status     `json:"status"`
	Reason     string     `json:"reason"`
	Amount     int64      `json:"amount"`
	Currency   string     `json:"currency"`
	Reference  string     `json:"reference"`
	Refunded   bool       `json:"refunded"`
	CreatedAt  time.Time  `json:"createdAt"`
	SettledAt  *time.Time `json:"settledAt,omitempty"`
	RefundedAt *time.Time `json:"refundedAt,omitempty"`
}

// Totals of the whole ledger at one moment. Approved counts refunded charges too: the
// money came in, and was refunded. DuplicateKeys counts idempotency keys with more
// than one charge, DuplicateReferences references with more than one approved charge
// that was not refunded; both are 0 in a sound ledger.
type Totals struct {
	Charges             int64 `json:"charges"`
	Approved            int64 `json:"approved"`
	Declined            int64 `json:"declined"`
	Pending             int64 `json:"pending"`
	Refunded            int64 `json:"refunded"`
	DuplicateKeys       int64 `json:"duplicateKeys"`
	DuplicateReferences int64 `json:"duplicateReferences"`
	ApprovedAmount      int64 `json:"approvedAmount"`
	RefundedAmount      int64 `json:"refundedAmount"`
}

var (
	errUnknownKey  = errors.New("no charge has this key")
	errKeyReused   = errors.New("this key was used for another request")
	errNotApproved = errors.New("only an approved charge can be refunded")
)

// ledger is the SQL. Writes go through one connection, reads beside it.
type ledger struct {
	w, r *sql.DB
}

func openLedger(path string) (*ledger, error) {
	// Commits are synced: an approved charge is on the disk before its answer leaves.
	w, err := sqliteoutbox.Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := w.Exec(schemaSQL); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	r, err := sqliteoutbox.OpenReader(path, 4)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &ledger{w: w, r: r}, nil
}

func (l *ledger) close() error { return errors.Join(l.r.Close(), l.w.Close()) }

// order is a valid request to charge a card.
type order struct {
	key, card, reference string
	amount               int64
}

func (o order) fingerprint() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s", o.amount, o.card, o.reference))
	return hex.EncodeToString(sum[:])
}

// charge records o, or finds the charge that its key already made. fresh
// distinguishes the two.
func (l *ledger) charge(ctx context.Context, o order, now time.Time, settleAfter time.Duration) (c Charge, fresh bool, err error) {
	status, reason := Approved, ""
	settleAt, settledAt := int64(0), now.UnixMilli()
	switch o.card {
	case CardDeclined:
		status, reason = Declined, "card_declined"
	case CardTimeout:
		status, settleAt, settledAt = Pending, now.Add(settleAfter).UnixMilli(), 0
	}
	err = sqltx.Do(ctx, l.w, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO charges
			(key, id, fingerprint, amount, card_last4, reference, status, reason, settle_at, created_at, settled_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`,
			o.key, "ch_"+uuid.NewString(), o.fingerprint(), o.amount, o.card[len(o.card)-4:], o.reference,
			status, reason, settleAt, now.UnixMilli(), settledAt)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		fresh = n == 1
		var print string
		if err := tx.QueryRowContext(ctx, `SELECT fingerprint FROM charges WHERE key = ?`, o.key).Scan(&print); err != nil {
			return err
		}
		if print != o.fingerprint() {
			return errKeyReused
		}
		c, err = find(ctx, tx, o.key)
		return err
	})
	return c, fresh, err
}

func (l *ledger) refund(ctx context.Context, key string, now time.Time) (c Charge, err error) {
	err = sqltx.Do(ctx, l.w, func(ctx context.Context, tx *sql.Tx) error {
		if c, err = find(ctx, tx, key); err != nil {
			return err
		}
		if c.Status != Approved {
			return errNotApproved
		}
		if c.Refunded {
			return nil
		}
		if _, err = tx.ExecContext(ctx, `UPDATE charges SET refunded_at = ? WHERE key = ?`, now.UnixMilli(), key); err != nil {
			return err
		}
		c, err = find(ctx, tx, key)
		return err
	})
	return c, err
}

// settle approves the due charges and returns when the next one is due; false when
// none waits.
func (l *ledger) settle(ctx context.Context, now time.Time) (next time.Time, waiting bool, err error) {
	if _, err := l.w.ExecContext(ctx, `UPDATE charges SET status = ?, settled_at = ?
		WHERE status = ? AND settle_at <= ?`, Approved, now.UnixMilli(), Pending, now.UnixMilli()); err != nil {
		return time.Time{}, false, err
	}
	var ms sql.NullInt64
	if err := l.w.QueryRowContext(ctx, `SELECT MIN(settle_at) FROM charges WHERE status = ?`, Pending).Scan(&ms); err != nil {
		return time.Time{}, false, err
	}
	return time.UnixMilli(ms.Int64), ms.Valid, nil
}

func (l *ledger) totals(ctx context.Context) (t Totals, err error) {
	err = l.r.QueryRowContext(ctx, totalsSQL).Scan(&t.Charges, &t.Approved, &t.Declined, &t.Pending,
		&t.Refunded, &t.DuplicateKeys, &t.DuplicateReferences, &t.ApprovedAmount, &t.RefundedAmount)
	return t, err
}

const chargeColumns = `seq, key, id, status, reason, amount, reference, created_at, settled_at, refunded_at`

// page returns up to limit charges after a position, and the position of the
// last one, or 0 when no more follow.
func (l *ledger) page(ctx context.Context, after int64, limit int) (charges []Charge, next int64, err error) {
	rows, err := l.r.QueryContext(ctx, `SELECT `+chargeColumns+` FROM charges WHERE seq > ? ORDER BY seq LIMIT ?`, after, limit+1)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err reports what matters
	charges = []Charge{}
	var last int64
	for rows.Next() {
		if len(charges) == limit {
			next = last
			break
		}
		c, seq, err := scan(rows)
		if err != nil {
			return nil, 0, err
		}
		charges, last = append(charges, c), seq
	}
	return charges, next, rows.Err()
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func find(ctx context.Context, q querier, key string) (Charge, error) {
	c, _, err := scan(q.QueryRowContext(ctx, `SELECT `+chargeColumns+` FROM charges WHERE key = ?`, key))
	if errors.Is(err, sql.ErrNoRows) {
		return Charge{}, errUnknownKey
	}
	return c, err
}

func scan(row interface{ Scan(...any) error }) (c Charge, seq int64, err error) {
	var created, settled, refunded int64
	if err := row.Scan(&seq, &c.Key, &c.ID, &c.Status, &c.Reason, &c.Amount, &c.Reference, &created, &settled, &refunded); err != nil {
		return Charge{}, 0, err
	}
	c.Currency, c.CreatedAt, c.Refunded = currency, time.UnixMilli(created).UTC(), refunded > 0
	c.SettledAt, c.RefundedAt = instant(settled), instant(refunded)
	return c, seq, nil
}

func instant(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	t := time.UnixMilli(ms).UTC()
	return &t
}
