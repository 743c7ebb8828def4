package booking

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/notices"
)

// notice tells the member the outcome of the seats; reason is "" for a booking.
func (b *Booking) notice(ctx context.Context, tx *sql.Tx, id, show, member string, seats []string, outcome, reason string, at int64) (event.Event, error) {
	title, err := b.catalog.Title(ctx, tx, show)
	if err != nil {
		return event.Event{}, err
	}
	p := events.NoticeParams{Show: title, Seats: seats, Outcome: outcome, Reason: reason}
	return events.New(events.ReservationNotice, "notice", id, member, true, events.Noticed{
		MemberID: member, RefID: id, Params: p, Message: notices.Text("en", notices.Reservation, p, ""), At: events.Time(at),
	})
}

// tellLate notifies the member of a refund of money that was paid after the
// reservation had ended. The member was notified of the end before.
func (b *Booking) tellLate(ctx context.Context, tx *sql.Tx, e event.Event, back events.PaidBack) error {
	row, err := b.Lock(ctx, tx, back.ReservationID)
	if err != nil {
		return err
	}
	seats, err := b.seatsOf(ctx, tx, back.ReservationID)
	if err != nil {
		return err
	}
	notice, err := b.notice(ctx, tx, back.ReservationID, row.ShowID, row.MemberID, seats, events.OutcomeRefunded, Late, back.RefundedAt.UnixMilli())
	if err != nil {
		return err
	}
	return b.outbox.Append(ctx, tx, notice.CausedBy(e))
}
