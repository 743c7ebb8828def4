package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

type reservationJSON struct {
	ReservationID string    `json:"reservationId"`
	EventID       string    `json:"eventId"`
	SeatIDs       []string  `json:"seatIds"`
	Status        string    `json:"status"`
	Reason        string    `json:"reason,omitempty"` // why it was cancelled
	Amount        int64     `json:"amount"`
	HoldExpiresAt time.Time `json:"holdExpiresAt"`
	CreatedAt     time.Time `json:"createdAt"`
	Transferred   bool      `json:"transferred,omitempty"`
	Used          bool      `json:"used,omitempty"` // a seat of it, at the door

	PaymentID     string `json:"paymentId,omitempty"`
	PaymentStatus string `json:"paymentStatus,omitempty"`
	FailureReason string `json:"failureReason,omitempty"`
	Refund        string `json:"refund,omitempty"` // REQUESTED, DONE
	RefundReason  string `json:"refundReason,omitempty"`
}

func presentReservation(r booking.Reservation) reservationJSON {
	out := reservationJSON{
		ReservationID: r.ID, EventID: r.ShowID, SeatIDs: r.SeatIDs, Status: r.Status, Reason: r.Reason, Amount: r.Amount,
		HoldExpiresAt: r.HoldExpiresAt, CreatedAt: r.CreatedAt, Transferred: r.Transferred, Used: r.Used,
	}
	if !r.Transferred { // else it is the payment of the first owner
		out.PaymentID, out.PaymentStatus, out.FailureReason = r.PaymentID, r.PaymentStatus, r.FailureReason
		if r.RefundState != "NONE" {
			out.Refund, out.RefundReason = r.RefundState, r.RefundReason
		}
	}
	return out
}

// bookingRoutes are the seats and their reservations. The waiting room guards them.
type bookingRoutes struct {
	booking *booking.Booking
	catalog *catalog.Catalog
	room    *queuehttp.Handlers
}

func (b bookingRoutes) mount(g *guard) {
	g.member("GET /api/seats/{eventId}", b.seats)
	g.member("GET /api/shows/{id}/allowance", b.allowance)
	g.writes("POST /api/seats/reserve", b.reserve)
	g.member("GET /api/reservations/{id}", b.reservation)
	g.writes("DELETE /api/reservations/{id}", b.cancelReservation)
	g.member("GET /api/me/tickets", b.tickets)
	g.writes("DELETE /api/me/tickets/{id}", b.cancelTicket)
}

type seatJSON struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Class  string `json:"class"` // that has this price in the show's prices; empty for none
	Price  int64  `json:"price"`
}

func (b bookingRoutes) seats(w http.ResponseWriter, r *http.Request, member string) error {
	event := r.PathValue("eventId")
	if err := b.catalog.Exists(r.Context(), event); err != nil {
		return err
	}
	if !b.passed(w, r, b.room.Admit(r, member, event)) {
		return nil
	}
	seats, err := b.catalog.Seats(r.Context(), event)
	out := each(seats, func(s catalog.Seat) seatJSON { return seatJSON{s.ID, s.Status, s.Class, s.Price} })
	return reply(w, http.StatusOK, map[string]any{"seats": out}, err)
}

// allowance is how many seats of a show the member may have, and has.
func (b bookingRoutes) allowance(w http.ResponseWriter, r *http.Request, member string) error {
	has, err := b.booking.Allowance(r.Context(), member, r.PathValue("id"))
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, struct {
		EventID   string     `json:"eventId"`
		Limits    limitsJSON `json:"limits"`
		Held      int        `json:"held"`
		Bought    int        `json:"bought"`
		Remaining int        `json:"remaining"`
	}{r.PathValue("id"), limitsJSON{has.MaxHeld, has.MaxBought}, has.Held, has.Bought, has.Remaining()})
	return nil
}

func (b bookingRoutes) reserve(w http.ResponseWriter, r *http.Request, member string) error {
	var body struct {
		EventID string   `json:"eventId"`
		SeatIDs []string `json:"seatIds"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if err := required("eventId", body.EventID); err != nil {
		return err
	}
	if n := len(body.SeatIDs); n == 0 || n > catalog.MaxSeats {
		return invalid("seatIds", "seatIds names %d seats; name 1 to %d", n, catalog.MaxSeats)
	}
	for _, seat := range body.SeatIDs {
		if !identifier.MatchString(seat) {
			return invalid("seatIds", "seatIds names a seat that is none; a seat is 1 to 64 letters, digits, dots, dashes and underscores")
		}
	}
	sorted := slices.Sorted(slices.Values(body.SeatIDs))
	if len(slices.Compact(sorted)) != len(body.SeatIDs) {
		return invalid("seatIds", "seatIds names a seat twice")
	}
	if err := b.catalog.Exists(r.Context(), body.EventID); err != nil {
		return err
	}
	if !b.passed(w, r, b.room.AdmitWrite(r, member, body.EventID)) {
		return nil
	}
	held, err := b.booking.Reserve(r.Context(), member, body.EventID, body.SeatIDs)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/reservations/"+held.ID)
	answer(w, http.StatusCreated, presentReservation(held))
	return nil
}

func (b bookingRoutes) reservation(w http.ResponseWriter, r *http.Request, member string) error {
	found, err := b.booking.Get(r.Context(), member, r.PathValue("id"))
	if err != nil {
		return err
	}
	if b.passed(w, r, b.room.Admit(r, member, found.ShowID)) {
		answer(w, http.StatusOK, presentReservation(found))
	}
	return nil
}

func (b bookingRoutes) cancelReservation(w http.ResponseWriter, r *http.Request, member string) error {
	found, err := b.booking.Get(r.Context(), member, r.PathValue("id"))
	if err != nil {
		return err
	}
	if !b.passed(w, r, b.room.AdmitWrite(r, member, found.ShowID)) {
		return nil
	}
	return b.cancelTicket(w, r, member)
}

func (b bookingRoutes) tickets(w http.ResponseWriter, r *http.Request, member string) error {
	mine, err := b.booking.List(r.Context(), member)
	return reply(w, http.StatusOK, map[string]any{"tickets": each(mine, presentReservation)}, err)
}

// cancelTicket ends a reservation at once (200), or requests its refund (202): then
// it ends when the money is back.
func (b bookingRoutes) cancelTicket(w http.ResponseWriter, r *http.Request, member string) error {
	ended, err := b.booking.Cancel(r.Context(), member, r.PathValue("id"))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if ended.Status != booking.Cancelled {
		status = http.StatusAccepted
	}
	answer(w, status, presentReservation(ended))
	return nil
}

// passed reports false after it has answered what the waiting room refused: by Admit for
// reads of an event, and by AdmitWrite for writes, for which the token alone is not enough
// when its owner has left the room since.
func (b bookingRoutes) passed(w http.ResponseWriter, r *http.Request, err error) bool {
	if err != nil {
		b.room.Refuse(w, r, err)
	}
	return err == nil
}
