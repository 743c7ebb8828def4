package booking

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// The states of a reservation.
const (
	Pending   = "PENDING"
	Confirmed = "CONFIRMED"
	Cancelled = "CANCELLED"
)

// Why a reservation was cancelled.
const (
	UserRequest   = "USER_REQUEST"
	PaymentFailed = "PAYMENT_FAILED"
	HoldTimeout   = "HOLD_TIMEOUT"
	Refunded      = "REFUNDED"
)

// Late is the reason of a refund whose reservation had ended before the payment.
const Late = "LATE"

var (
	// ErrNotFound is returned for a reservation that does not exist or belongs to
	// another member; the two look the same.
	ErrNotFound = errors.New("booking: no such reservation")
	// ErrHandedOn is returned for a transferred ticket, which can't be given back any
	// more.
	ErrHandedOn = errors.New("booking: the ticket was transferred and can't be refunded")
	// ErrUsed is returned when a seat of the ticket was scanned: the ticket can be
	// neither refunded nor transferred.
	ErrUsed = errors.New("booking: the ticket was used")
)

// Refunder requests the refund of a payment in the caller's transaction. It does
// nothing when the refund was requested before, or the payment did not succeed.
type Refunder interface {
	RequestRefund(ctx context.Context, tx *sql.Tx, paymentID, reason string) error
}

// Reservation is a reservation with the part of its payment that its member may see.
type Reservation struct {
	ID, ShowID, MemberID string
	Status, Reason       string
	Amount               int64 // won
	SeatIDs              []string
	HoldExpiresAt        time.Time
	CreatedAt            time.Time
	Transferred          bool
	Used                 bool // a seat of it was used at the door

	PaymentID, PaymentStatus, FailureReason string // "" without a payment
	RefundState, RefundReason               string // NONE, REQUESTED, DONE
}

// Config of a [Booking].
type Config struct {
	// Hold is how long seats are held for payment; 5 min when zero.
	Hold time.Duration
	// PaymentLimit is how long after the end of a hold a payment that was accepted
	// before it keeps the seats while it is in flight; 2 min when zero. It is the
	// longest that the gateway may take to decide.
	PaymentLimit time.Duration
	// Holder names this process in the sweeper's lease; required.
	Holder string
	// LeaseTTL is how long the sweeper's lease lasts without a renewal; 10 s when zero.
	// A crash delays timeouts by as much, unless the same Holder comes back.
	LeaseTTL time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) validate() error {
	switch {
	case c.Hold < 0 || c.PaymentLimit < 0 || c.LeaseTTL < 0:
		return errors.New("booking: Hold, PaymentLimit and LeaseTTL must not be negative; use 0 for the defaults")
	case c.Holder == "":
		return errors.New("booking: Holder is empty; name this process")
	}
	return nil
}

// Booking reserves seats, and is put together here of the parts that do the rest with
// reservations. It is safe for concurrent use.
type Booking struct {
	*desk
	*Reservations
	*Allowances
	*Outcomes
	*Timeouts
}

// New makes a Booking.
func New(s *store.Store, c *catalog.Catalog, outbox store.Appender, refunds Refunder, cfg Config) (*Booking, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Hold = cmp.Or(cfg.Hold, 5*time.Minute)
	cfg.PaymentLimit = cmp.Or(cfg.PaymentLimit, 2*time.Minute)
	cfg.LeaseTTL = cmp.Or(cfg.LeaseTTL, 10*time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	d := &desk{store: s, catalog: c, outbox: outbox, refunds: refunds, cfg: cfg}
	if err := s.Load(bookingSQL, &d.sql); err != nil {
		return nil, fmt.Errorf("booking: %w", err)
	}
	return &Booking{
		desk: d, Reservations: &Reservations{d}, Allowances: &Allowances{d}, Outcomes: &Outcomes{d}, Timeouts: &Timeouts{d},
	}, nil
}

// Reserve holds the seats for the member, all or none. Errors: a *LimitError when
// they exceed the member's limits, and the catalog's for an unknown show, unknown
// seats and taken seats.
func (b *Booking) Reserve(ctx context.Context, member, show string, seats []string) (Reservation, error) {
	if err := b.catalog.Exists(ctx, show); err != nil {
		return Reservation{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Reservation{}, fmt.Errorf("booking: make an id: %w", err)
	}
	var r Reservation
	err = b.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		r, err = b.hold(ctx, tx, id.String(), member, show, seats)
		return err
	})
	if err != nil {
		return Reservation{}, err
	}
	return r, nil
}

func (b *Booking) hold(ctx context.Context, tx *sql.Tx, id, member, show string, seats []string) (Reservation, error) {
	if err := b.within(ctx, tx, member, show, len(seats)); err != nil {
		return Reservation{}, err
	}
	var deadline int64
	if err := tx.QueryRowContext(ctx, b.sql.Deadline, b.cfg.Hold.Milliseconds()).Scan(&deadline); err != nil {
		return Reservation{}, fmt.Errorf("booking: reserve: %w", err)
	}
	if err := b.catalog.Hold(ctx, tx, id, show, seats, deadline); err != nil {
		return Reservation{}, err
	}
	amount, err := b.catalog.Price(ctx, tx, id)
	if err != nil {
		return Reservation{}, err
	}
	created := deadline - b.cfg.Hold.Milliseconds()
	correlation, _ := events.Causes(ctx)
	if _, err := tx.ExecContext(ctx, b.sql.Insert, id, show, member, amount, deadline, created, correlation); err != nil {
		return Reservation{}, fmt.Errorf("booking: reserve: %w", err)
	}
	if err := b.catalog.Keep(ctx, tx, id); err != nil {
		return Reservation{}, err
	}
	e, err := events.New(events.ReservationCreated, "reservation", id, member, true, events.Created{
		ScheduleID: show, SeatIDs: seats, Amount: amount, HoldExpiresAt: events.Time(deadline), CreatedAt: events.Time(created),
	})
	if err != nil {
		return Reservation{}, err
	}
	if err := b.outbox.Append(ctx, tx, e); err != nil {
		return Reservation{}, err
	}
	return Reservation{
		ID: id, ShowID: show, MemberID: member, Status: Pending, Amount: amount, SeatIDs: seats,
		HoldExpiresAt: events.Time(deadline), CreatedAt: events.Time(created), RefundState: "NONE",
	}, nil
}

// Cancel ends the member's reservation. A reservation that waits for its payment ends
// at once, also while the payment is in flight: a later success is refunded. A
// confirmed one ends when its money is back. Cancelling twice is harmless.
func (b *Booking) Cancel(ctx context.Context, member, id string) (Reservation, error) {
	err := b.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		row, err := b.Lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if row.MemberID != member {
			return ErrNotFound
		}
		switch row.Status {
		case Pending:
			_, err := b.cancel(ctx, tx, id, b.sql.CancelPending, []any{id, UserRequest}, UserRequest, event.Event{})
			return err
		case Confirmed:
			if row.Transferred {
				return ErrHandedOn
			}
			if row.Used {
				return ErrUsed
			}
			return b.refunds.RequestRefund(ctx, tx, row.PaymentID, UserRequest)
		}
		return nil
	})
	if err != nil {
		return Reservation{}, err
	}
	return b.Get(ctx, member, id)
}
