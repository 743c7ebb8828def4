package booking

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// why says to a member why a reservation was cancelled.
var why = map[string]string{
	UserRequest:   "as you asked",
	PaymentFailed: "the payment failed",
	HoldTimeout:   "the hold timed out",
	Refunded:      "the money is back",
}

// notice tells the member what became of the seats.
func (b *Booking) notice(ctx context.Context, tx *sql.Tx, id, show, member string, seats []string, outcome string, at int64) (event.Event, error) {
	title, err := b.catalog.Title(ctx, tx, show)
	if err != nil {
		return event.Event{}, err
	}
	noun, verb := "seats", "are"
	if len(seats) == 1 {
		noun, verb = "seat", "is"
	}
	return events.New(events.ReservationNotice, "notice", id, member, true, events.Noticed{
		MemberID: member, RefID: id, At: events.Time(at),
		Message: fmt.Sprintf("Your %s %s for %s %s %s", noun, strings.Join(seats, ", "), title, verb, outcome),
	})
}
