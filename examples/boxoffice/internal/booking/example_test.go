package booking_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// Two fans want the same seat.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "booking-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	s, err := store.Open(ctx, "sqlite://"+filepath.Join(dir, "boxoffice.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	outbox := &boxtest.Outbox{} // an *outbox.Outbox in the program
	seats, err := catalog.New(s, outbox)
	if err != nil {
		fmt.Println(err)
		return
	}
	payments, err := payment.New(s, outbox)
	if err != nil {
		fmt.Println(err)
		return
	}
	office, err := booking.New(s, seats, outbox, payments, booking.Config{Holder: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	payments.SetReservations(office)

	held, err := office.Reserve(ctx, "ann", "show-1", []string{"A-1", "A-2"})
	fmt.Println(held.Status, held.Amount, err)

	_, err = office.Reserve(ctx, "bob", "show-1", []string{"A-2", "A-3"})
	var taken *catalog.TakenError
	fmt.Println(errors.As(err, &taken), taken.Seats)

	ended, err := office.Cancel(ctx, "ann", held.ID)
	fmt.Println(ended.Status, ended.Reason, err)
	for _, e := range outbox.Take() {
		fmt.Println(e.Type, e.Key())
	}
	// Output:
	// PENDING 300000 <nil>
	// true [A-2]
	// CANCELLED USER_REQUEST <nil>
	// ReservationCreated ann
	// ReservationCancelled ann
	// ReservationNotice ann
}
