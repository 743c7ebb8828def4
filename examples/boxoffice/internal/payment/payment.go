package payment

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/sqltx"
)

// The states of a payment.
const (
	Processing = "PROCESSING"
	Success    = "SUCCESS"
	Failed     = "FAILED"
	Refunded   = "REFUNDED"
)

// MembershipPrice is the price of a year's membership, in won.
const MembershipPrice = 30_000

// Reservations is the part of bookings that payments need.
type Reservations interface {
	Lock(ctx context.Context, tx *sql.Tx, id string) (booking.Row, error)
}

// Payment is a payment as its member sees it.
type Payment struct {
	ID, Key, MemberID         string
	Type                      string // reservation, transfer, membership
	ReferenceID               string // the reservation, transfer or membership
	ReservationID             string // "" for a membership
	Amount                    int64
	CardLast4                 string
	Status, FailureReason     string
	RefundState, RefundReason string // NONE, REQUESTED, DONE
	CreatedAt                 time.Time
}

// Payments takes payments, and is put together here of the parts that do the rest with
// them. It is safe for concurrent use.
type Payments struct {
	*desk
	*Refunds
	*Offers
	*Club
}

// New makes Payments on an open store. SetReservations must follow before use:
// bookings and payments need each other.
func New(s *store.Store, outbox store.Appender) (*Payments, error) {
	d := &desk{store: s, outbox: outbox, due: signal.New()}
	if err := s.Load(paymentSQL, &d.sql); err != nil {
		return nil, fmt.Errorf("payment: %w", err)
	}
	refunds := &Refunds{d}
	return &Payments{desk: d, Refunds: refunds, Offers: &Offers{d, refunds}, Club: &Club{d}}, nil
}

// SetReservations gives Payments the bookings that it charges for.
func (p *Payments) SetReservations(r Reservations) { p.bookings = r }

// Request asks for a payment.
type Request struct {
	Key           string // the client's Idempotency-Key
	Member        string
	Type          string
	ReservationID string // for a reservation or a transfer
	ToMember      string // for a transfer
	Amount        int64  // won
	Card          string // the number of a test card
}

// hash is the hash that the key is bound to.
func (r Request) hash(card string) string {
	text, err := json.Marshal([]any{r.Member, r.Type, r.ReservationID, r.ToMember, r.Amount, card})
	if err != nil { // strings and a number
		panic(fmt.Sprintf("payment: hash a request: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Start accepts a payment; the executor carries it out. The same request under the
// same key returns the payment of the first request, in any state. See the errors of
// this package for refused requests.
func (p *Payments) Start(ctx context.Context, r Request) (Payment, error) {
	card, last4, err := cardOf(r.Card)
	if err != nil {
		return Payment{}, err
	}
	id, hash, paymentID := newID(), r.hash(card), ""
	err = p.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		known, err := p.known(ctx, tx, r.Key, hash)
		if err != nil || known != "" {
			paymentID = known
			return err
		}
		paymentID = id
		return p.accept(ctx, tx, id, hash, card, last4, r)
	})
	if err != nil {
		// The same request in another process may have been committed between our look and
		// our insert, or between our look and the refusal. Now its payment is visible.
		known, lookErr := p.known(ctx, p.store.DB(), r.Key, hash)
		if errors.Is(lookErr, ErrKeyReused) {
			return Payment{}, lookErr
		}
		if known == "" {
			return Payment{}, err
		}
		paymentID = known
	}
	return p.Get(ctx, r.Member, paymentID)
}

// known returns the payment that the key has made, "" when there is none, or
// ErrKeyReused when it was for another request.
func (p *Payments) known(ctx context.Context, q store.RowQuerier, key, hash string) (id string, err error) {
	var before string
	err = q.QueryRowContext(ctx, p.sql.ByKey, key).Scan(&id, &before)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("payment: look for the key: %w", err)
	case before != hash:
		return "", ErrKeyReused
	}
	return id, nil
}

// accept checks a new request and writes the payment.
func (p *Payments) accept(ctx context.Context, tx *sql.Tx, id, hash, card, last4 string, r Request) error {
	var reference string
	var err error
	var due time.Duration // from now; a transfer waits for the receiver's consent
	switch r.Type {
	case events.ForReservation:
		reference, err = r.ReservationID, p.checkReservation(ctx, tx, r)
	case events.ForTransfer:
		reference, due, err = newID(), OfferLasts, p.Offers.check(ctx, tx, r)
	case events.ForMembership:
		reference = newID()
		if r.Amount != MembershipPrice {
			err = &AmountError{Got: r.Amount, Expected: MembershipPrice}
		}
	default:
		err = fmt.Errorf("payment: unknown type %q", r.Type)
	}
	if err != nil {
		return err
	}
	correlation, causation := events.Causes(ctx)
	if _, err := tx.ExecContext(ctx, p.sql.Insert, id, r.Key, hash, r.Member, r.Type, reference, r.ReservationID,
		r.Amount, card, last4, due.Milliseconds(), correlation, causation); err != nil {
		return fmt.Errorf("payment: write: %w", err)
	}
	switch r.Type {
	case events.ForTransfer:
		err = p.Offers.write(ctx, tx, reference, id, r)
	case events.ForMembership:
		err = p.Club.write(ctx, tx, reference, id, r)
	}
	if err != nil {
		return fmt.Errorf("payment: write the %s: %w", r.Type, err)
	}
	sqltx.AfterCommit(ctx, p.due.Wake)
	return nil
}

// checkReservation returns why this member may not pay this for this reservation now,
// or nil.
func (p *Payments) checkReservation(ctx context.Context, tx *sql.Tx, r Request) error {
	row, err := p.own(ctx, tx, r)
	if err != nil {
		return err
	}
	if r.Amount != row.Amount {
		return &AmountError{Got: r.Amount, Expected: row.Amount}
	}
	var other, status string
	err = tx.QueryRowContext(ctx, p.sql.OfReservation, r.ReservationID).Scan(&other, &status)
	switch {
	case err == nil:
		return &PaidBeforeError{PaymentID: other, Status: status}
	case !errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("payment: look for another payment: %w", err)
	}
	if row.Status != booking.Pending || row.HoldOver {
		return &HoldEndedError{Status: row.Status, Reason: row.Reason}
	}
	return nil
}

// Get returns the member's payment, or ErrNotFound.
func (p *Payments) Get(ctx context.Context, member, id string) (Payment, error) {
	return p.get(ctx, p.store.Reader(), member, id)
}
