package booking

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/notices"
)

// notice tells the member the outcome of the seats; reason is "" for a booking.
func (d *desk) notice(ctx context.Context, tx *sql.Tx, id, show, member string, seats []string, outcome, reason string, at int64) (event.Event, error) {
	title, err := d.catalog.Title(ctx, tx, show)
	if err != nil {
		return event.Event{}, err
	}
	p := events.NoticeParams{Show: title, Seats: seats, Outcome: outcome, Reason: reason}
	return events.New(events.ReservationNotice, "notice", id, member, true, events.Noticed{
		MemberID: member, RefID: id, Params: p, Message: notices.Text("en", notices.Reservation, p, ""), At: events.Time(at),
	})
}
