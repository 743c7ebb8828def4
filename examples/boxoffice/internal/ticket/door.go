package ticket

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/ticket.sql
var ticketSQL string

// Status is the result of a scan.
type Status string

// The results of a scan.
const (
	Valid       Status = "VALID" // let the holder in; the ticket is used now
	Used        Status = "USED"
	Refunded    Status = "REFUNDED" // or its money is on its way back
	Transferred Status = "TRANSFERRED"
	OtherShow   Status = "OTHER_SHOW" // genuine, and for another door; nothing was looked up
)

var (
	// ErrNotFound is returned for a reservation that does not exist or belongs to another
	// member.
	ErrNotFound = errors.New("ticket: no such reservation")
	// ErrUnknownTicket is returned for a genuine code of which this office's database has
	// no reservation. Answers contain the word.
	ErrUnknownTicket = errors.New("unknown_ticket")
)

// NotConfirmedError is returned for a reservation that has no tickets, or no longer.
type NotConfirmedError struct{ Status string }

func (e *NotConfirmedError) Error() string {
	return "ticket: the reservation is " + e.Status + ", not CONFIRMED"
}

// Issued is a ticket in its holder's hand.
type Issued struct {
	Ticket
	Code    string
	Picture Picture
	UsedAt  time.Time // zero until then
}

// Scan is a scanned ticket and its result.
type Scan struct {
	Ticket
	Status Status
	// UsedAt is when the ticket was used: now if it is VALID.
	UsedAt time.Time
}

type statements struct {
	Mine, Lock, RefundOf, Used, Use, MarkUsed string
}

// Door issues tickets and checks them. It is safe for concurrent use.
type Door struct {
	store *store.Store
	keys  *Keys
	sql   statements
}

// New makes a Door on an open store.
func New(s *store.Store, keys *Keys) (*Door, error) {
	d := &Door{store: s, keys: keys}
	if err := s.Load(ticketSQL, &d.sql); err != nil {
		return nil, fmt.Errorf("ticket: %w", err)
	}
	return d, nil
}

// Keys are the public keys that verify codes.
func (d *Door) Keys() PublicKeys { return d.keys.Public() }

// Issue returns the tickets of the member's reservation, one for each seat. Errors:
// ErrNotFound, a *NotConfirmedError.
func (d *Door) Issue(ctx context.Context, member, reservation string) ([]Issued, error) {
	rows, err := d.store.Reader().QueryContext(ctx, d.sql.Mine, reservation, member)
	if err != nil {
		return nil, fmt.Errorf("ticket: seats of %s: %w", reservation, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	var list []Issued
	for rows.Next() {
		var t Issued
		var status string
		var used int64
		if err := rows.Scan(&t.ShowID, &status, &t.Generation, &t.SeatID, &used); err != nil {
			return nil, fmt.Errorf("ticket: seats of %s: %w", reservation, err)
		}
		if status != "CONFIRMED" {
			return nil, &NotConfirmedError{status}
		}
		if used > 0 {
			t.UsedAt = events.Time(used)
		}
		t.ID = idOf(reservation, t.SeatID)
		if t.Code, err = d.keys.Sign(t.Ticket); err != nil {
			return nil, err
		}
		if t.Picture, err = Draw(t.Code); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("ticket: seats of %s: %w", reservation, err)
	}
	if len(list) == 0 {
		return nil, ErrNotFound
	}
	return list, nil
}

// idOf names a ticket. A reservation's id holds no dot; a seat's may.
func idOf(reservation, seat string) string { return reservation + "." + seat }

// Scan checks a code at the entrance of a show, and lets the ticket be used once: of
// any number of scans, at once or later, one returns VALID. key names the request: if
// it is repeated with the same key, because the answer was lost, it returns VALID
// again; "" is never the same. Errors: those of [Verify], and ErrUnknownTicket.
func (d *Door) Scan(ctx context.Context, code, show, key string) (Scan, error) {
	t, err := Verify(d.keys.Public(), code)
	if err != nil {
		return Scan{}, err
	}
	if t.ShowID != show {
		return Scan{Ticket: t, Status: OtherShow}, nil
	}
	var found Scan
	err = d.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		found = Scan{Ticket: t}
		return d.scan(ctx, tx, &found, key)
	})
	if errors.Is(err, ErrUnknownTicket) {
		return Scan{}, ErrUnknownTicket
	}
	if err != nil {
		return Scan{}, fmt.Errorf("ticket: scan %s: %w", t.ID, err)
	}
	return found, nil
}

// scan decides under the lock of the reservation, which a refund and a transfer take
// as well.
func (d *Door) scan(ctx context.Context, tx *sql.Tx, found *Scan, key string) error {
	reservation, _, _ := strings.Cut(found.ID, ".")
	var status, refund, before string
	var generation, at int64
	err := tx.QueryRowContext(ctx, d.sql.Lock, reservation).Scan(&status, &generation)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrUnknownTicket
	}
	if err != nil {
		return err
	}
	err = tx.QueryRowContext(ctx, d.sql.RefundOf, reservation).Scan(&refund)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	switch {
	case found.Generation != generation:
		found.Status = Transferred
		return nil
	case status != "CONFIRMED" || refund != "NONE":
		found.Status = Refunded
		return nil
	}
	err = tx.QueryRowContext(ctx, d.sql.Used, reservation, found.SeatID).Scan(&at, &before)
	if err == nil {
		found.Status, found.UsedAt = Used, events.Time(at)
		if key != "" && key == before {
			found.Status = Valid
		}
		return nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, err := tx.ExecContext(ctx, d.sql.Use, reservation, found.SeatID, found.Generation, key); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, d.sql.MarkUsed, reservation); err != nil {
		return err
	}
	found.Status = Valid
	err = tx.QueryRowContext(ctx, d.sql.Used, reservation, found.SeatID).Scan(&at, &before)
	found.UsedAt = events.Time(at)
	return err
}
