package payment

import (
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
)

var (
	// ErrNotFound is returned for a payment that does not exist or belongs to another
	// member.
	ErrNotFound = errors.New("payment: no such payment")
	// ErrKeyReused is returned when a key was used for another request before.
	ErrKeyReused = errors.New("payment: this Idempotency-Key was used for another request")
	// ErrUnknownCard is returned for anything but a test card.
	ErrUnknownCard = errors.New("payment: not a test card")
	// ErrSelfTransfer is returned for a transfer of a ticket to its own member.
	ErrSelfTransfer = errors.New("payment: a ticket can't be transferred to its own member")
	// ErrTransferring is returned while a ticket's transfer is in progress.
	ErrTransferring = errors.New("payment: a transfer of this ticket is under way")
	// ErrNoTransfer is returned for a transfer that does not exist, or that the member
	// may not decide about; the two look the same.
	ErrNoTransfer = errors.New("payment: no such transfer")
	// ErrRefunding is returned while a ticket is being refunded.
	ErrRefunding = errors.New("payment: this ticket is being refunded")
)

// AmountError is returned for an amount that differs from the price.
type AmountError struct{ Got, Expected int64 }

func (e *AmountError) Error() string {
	return fmt.Sprintf("payment: the amount is %d, expected %d", e.Got, e.Expected)
}

// PaidBeforeError is returned for a reservation that has a payment already.
type PaidBeforeError struct{ PaymentID, Status string }

func (e *PaidBeforeError) Error() string {
	return fmt.Sprintf("payment: the reservation has the payment %s, %s", e.PaymentID, e.Status)
}

// HoldEndedError is returned when the reservation no longer waits for a payment.
// Status is PENDING when its time is over and the sweep has not ended it yet.
type HoldEndedError struct{ Status, Reason string }

func (e *HoldEndedError) Error() string {
	switch e.Status {
	case booking.Confirmed:
		return "payment: the reservation is confirmed already"
	case booking.Cancelled:
		return "payment: the reservation was cancelled: " + e.Reason
	}
	return "payment: the time to pay for the reservation is over"
}

// NotConfirmedError is returned when an unconfirmed reservation is to be transferred.
type NotConfirmedError struct{ Status string }

func (e *NotConfirmedError) Error() string {
	return "payment: the reservation is " + e.Status + ", not CONFIRMED"
}

// NotRefundableError is returned for a payment that can't be refunded: it has not
// succeeded, or its type is never refunded on request.
type NotRefundableError struct{ Type, Status string }

func (e *NotRefundableError) Error() string {
	return fmt.Sprintf("payment: a %s payment that is %s can't be refunded", e.Type, e.Status)
}

// DecidedError is returned for a transfer that is no longer an open offer.
type DecidedError struct{ Status, Reason string }

func (e *DecidedError) Error() string {
	if e.Reason != "" {
		return "payment: the transfer is " + e.Status + ": " + e.Reason
	}
	return "payment: the transfer is " + e.Status
}
