package payment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/sqltx"
)

// OfferLasts is how long the receiver of a transfer may take to answer.
const OfferLasts = 24 * time.Hour

// The states of a transfer.
const (
	Offered   = "OFFERED"   // the receiver has not answered
	Accepted  = "ACCEPTED"  // its payment is under way
	Completed = "COMPLETED" // the ticket is the receiver's
	Cancelled = "CANCELLED" // it ended without that, by its reason
)

// Why a transfer was cancelled, beside booking.PaymentFailed and booking.Late.
const (
	Declined  = "DECLINED"
	Withdrawn = "WITHDRAWN"
	Expired   = "EXPIRED"
)

// OfferEnded begins the failure reason of a payment whose offer was not accepted,
// such as OFFER_DECLINED. The gateway never heard of such a payment.
const OfferEnded = "OFFER_"

// maxTransfers bounds a member's list; the newest come first.
const maxTransfers = 100

// Transfer moves the ticket of a reservation, with all its seats, to another member. Its
// JSON is what clients see.
type Transfer struct {
	ID            string    `json:"transferId"`
	ReservationID string    `json:"reservationId"`
	PaymentID     string    `json:"paymentId,omitempty"` // of From, and for From alone
	From          string    `json:"fromMemberId"`
	To            string    `json:"toMemberId"`
	ShowID        string    `json:"eventId,omitempty"` // of a list
	SeatIDs       []string  `json:"seatIds,omitempty"` // of a list
	Amount        int64     `json:"amount"`            // won, which From pays
	Status        string    `json:"status"`
	Reason        string    `json:"reason,omitempty"`
	CreatedAt     time.Time `json:"createdAt"`
	ExpiresAt     time.Time `json:"expiresAt"`
	AcceptedAt    time.Time `json:"acceptedAt,omitzero"`
	SettledAt     time.Time `json:"settledAt,omitzero"`
}

// Offers are the transfers of tickets between members.
type Offers struct {
	*desk
	refunds *Refunds
}

// Transfers returns the member's newest transfers, sent and received, at most 100.
func (o *Offers) Transfers(ctx context.Context, member string) ([]Transfer, error) {
	list, err := o.transfers(ctx, member)
	if err != nil {
		return nil, fmt.Errorf("payment: list transfers: %w", err)
	}
	return list, nil
}

func (o *Offers) transfers(ctx context.Context, member string) ([]Transfer, error) {
	db := o.store.Reader()
	list, err := store.List(ctx, db, o.sql.TransfersOf, []any{member, maxTransfers}, func(row *sql.Rows) (Transfer, error) {
		return scanTransfer(row)
	})
	if err != nil {
		return nil, err
	}
	places := map[string]int{}
	for i, t := range list {
		places[t.ID] = i
	}
	return list, store.Each(ctx, db, o.sql.SeatsOfTransfers, []any{member, maxTransfers}, func(row *sql.Rows) error {
		var id, show, seat string
		err := row.Scan(&id, &show, &seat)
		if i, ok := places[id]; ok && err == nil {
			list[i].ShowID, list[i].SeatIDs = show, append(list[i].SeatIDs, seat)
		}
		return err
	})
}

// Accept is the receiver's consent: the payment is charged now. Accepting twice is
// harmless. Errors: ErrNoTransfer, a *DecidedError; and when the ticket can no longer
// be transferred, which ends the offer, a *NotConfirmedError, ErrRefunding or
// booking.ErrUsed.
func (o *Offers) Accept(ctx context.Context, member, id string) (Transfer, error) {
	return o.decide(ctx, id, func(ctx context.Context, tx *sql.Tx, t Transfer, row booking.Row) (refused, err error) {
		switch {
		case t.To != member:
			return nil, ErrNoTransfer
		case t.Status == Accepted || t.Status == Completed:
			return nil, nil
		case t.Status != Offered:
			return nil, &DecidedError{t.Status, t.Reason}
		}
		if refused, err = o.transferable(ctx, tx, t.ReservationID, row); err != nil || refused != nil {
			if err == nil {
				err = o.endOffer(ctx, tx, t, booking.Late)
			}
			return refused, err
		}
		var at int64
		err = o.store.Update(ctx, tx, o.sql.AcceptTransfer, []any{t.ID}, &at)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, &DecidedError{Cancelled, Expired}
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, o.sql.ChargeNow, t.PaymentID)
		}
		if err != nil {
			return nil, fmt.Errorf("payment: accept %s: %w", t.ID, err)
		}
		sqltx.AfterCommit(ctx, o.due.Wake)
		notices, err := o.notices(ctx, tx, t, events.TransferAccepted, at, t.From)
		if err != nil {
			return nil, err
		}
		return nil, o.outbox.Append(ctx, tx, notices...)
	})
}

// Decline is the receiver's refusal, and Withdraw the sender's change of mind: the
// offer ends and nothing is charged. Repeating is harmless. Errors: ErrNoTransfer, a
// *DecidedError.
func (o *Offers) Decline(ctx context.Context, member, id string) (Transfer, error) {
	return o.end(ctx, id, Declined, func(t Transfer) bool { return t.To == member })
}

// Withdraw is described at [Offers.Decline].
func (o *Offers) Withdraw(ctx context.Context, member, id string) (Transfer, error) {
	return o.end(ctx, id, Withdrawn, func(t Transfer) bool { return t.From == member })
}

func (o *Offers) end(ctx context.Context, id, reason string, may func(Transfer) bool) (Transfer, error) {
	return o.decide(ctx, id, func(ctx context.Context, tx *sql.Tx, t Transfer, _ booking.Row) (refused, err error) {
		switch {
		case !may(t):
			return nil, ErrNoTransfer
		case t.Status == Cancelled && t.Reason == reason:
			return nil, nil
		case t.Status != Offered:
			return nil, &DecidedError{t.Status, t.Reason}
		}
		return nil, o.endOffer(ctx, tx, t, reason)
	})
}

// expire ends an offer that was not accepted in time. It reports false when there
// is consent, and the payment can be charged.
func (o *Offers) expire(ctx context.Context, paymentID string) (ended bool, err error) {
	t, err := scanTransfer(o.store.Reader().QueryRowContext(ctx, o.sql.TransferOf, paymentID))
	if err != nil {
		return false, fmt.Errorf("payment: transfer of %s: %w", paymentID, err)
	}
	if t.Status == Accepted {
		return false, nil
	}
	t, err = o.decide(ctx, t.ID, func(ctx context.Context, tx *sql.Tx, t Transfer, _ booking.Row) (refused, err error) {
		if t.Status != Offered {
			return nil, nil
		}
		return nil, o.endOffer(ctx, tx, t, Expired)
	})
	return t.Status == Cancelled, err
}

// decide makes one decision about a transfer at a time: under the lock of its
// reservation, which a refund and a scan take too. refused is an error that undoes
// nothing.
func (o *Offers) decide(ctx context.Context, id string, move func(ctx context.Context, tx *sql.Tx, t Transfer, row booking.Row) (refused, err error)) (Transfer, error) {
	// The reservation of a transfer never changes, so it can be read before its lock.
	found, err := scanTransfer(o.store.Reader().QueryRowContext(ctx, o.sql.Transfer, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Transfer{}, ErrNoTransfer
	}
	if err != nil {
		return Transfer{}, fmt.Errorf("payment: transfer %s: %w", id, err)
	}
	var refused error
	err = o.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		row, err := o.bookings.Lock(ctx, tx, found.ReservationID)
		if err != nil {
			return err
		}
		t, err := scanTransfer(tx.QueryRowContext(ctx, o.sql.LockTransfer, id))
		if err != nil {
			return fmt.Errorf("payment: transfer %s: %w", id, err)
		}
		if refused, err = move(ctx, tx, t, row); err != nil {
			return err
		}
		found, err = scanTransfer(tx.QueryRowContext(ctx, o.sql.LockTransfer, id))
		return err
	})
	if err != nil {
		return Transfer{}, err
	}
	return found, refused
}

// endOffer ends an open offer and its payment, which never reaches the gateway.
func (o *Offers) endOffer(ctx context.Context, tx *sql.Tx, t Transfer, reason string) error {
	var at int64
	if err := o.store.Update(ctx, tx, o.sql.EndOffer, []any{t.ID, reason}, &at); err != nil {
		return fmt.Errorf("payment: end the offer %s: %w", t.ID, err)
	}
	x, err := o.get(ctx, tx, t.From, t.PaymentID)
	if err != nil {
		return err
	}
	why := OfferEnded + reason
	if err := o.store.Update(ctx, tx, o.sql.Fail, []any{t.PaymentID, sql.NullString{}, why}, &at); err != nil {
		return fmt.Errorf("payment: end the payment %s of an offer: %w", t.PaymentID, err)
	}
	failed, err := events.New(events.PaymentFailed, "payment", x.ID, x.MemberID, true, events.NotPaid{
		PaymentID: x.ID, PaymentKey: x.Key, ReservationID: x.ReservationID, Amount: x.Amount,
		FailureReason: why, FailedAt: events.Time(at), PaymentType: x.Type, SagaID: x.ReferenceID,
	})
	if err != nil {
		return err
	}
	ended, err := t.event(events.TransferCancelled, reason, at)
	if err != nil {
		return err
	}
	outcome, members := events.TransferFailed, []string{t.From, t.To}
	switch reason {
	case Declined:
		outcome, members = events.TransferDeclined, []string{t.From}
	case Withdrawn:
		outcome, members = events.TransferWithdrawn, []string{t.To}
	case Expired:
		outcome = events.TransferExpired
	}
	notices, err := o.notices(ctx, tx, t, outcome, at, members...)
	if err != nil {
		return err
	}
	return o.outbox.Append(ctx, tx, append(notices, failed, ended)...)
}

// event is the event of a transfer's end.
func (t Transfer) event(typ, reason string, at int64) (event.Event, error) {
	return events.New(typ, "transfer", t.ID, t.From, false, events.Transferred{
		TransferID: t.ID, ReservationID: t.ReservationID, FromMemberID: t.From, ToMemberID: t.To, Amount: t.Amount,
		Reason: reason, SettledAt: events.Time(at),
	})
}

func scanTransfer(row interface{ Scan(...any) error }) (Transfer, error) {
	var t Transfer
	var created, expires, accepted, settled int64
	err := row.Scan(&t.ID, &t.PaymentID, &t.ReservationID, &t.From, &t.To, &t.Amount, &t.Status, &t.Reason,
		&created, &expires, &accepted, &settled)
	t.CreatedAt, t.ExpiresAt = events.Time(created), events.Time(expires)
	if settled > 0 {
		t.SettledAt = events.Time(settled)
	}
	if accepted > 0 {
		t.AcceptedAt = events.Time(accepted)
	}
	if t.Status == "PENDING" {
		if t.Status = Offered; accepted > 0 {
			t.Status = Accepted
		}
	}
	return t, err
}
