package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
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

// allowance is how many seats of a show the member may have, and has.
func (a *API) allowance(w http.ResponseWriter, r *http.Request, member string) error {
	has, err := a.cfg.Booking.Allowance(r.Context(), member, r.PathValue("id"))
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

func (a *API) reserve(w http.ResponseWriter, r *http.Request, member string) error {
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
	if err := a.cfg.Catalog.Exists(r.Context(), body.EventID); err != nil {
		return err
	}
	if !a.inside(w, r, member, body.EventID) {
		return nil
	}
	held, err := a.cfg.Booking.Reserve(r.Context(), member, body.EventID, body.SeatIDs)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/reservations/"+held.ID)
	answer(w, http.StatusCreated, presentReservation(held))
	return nil
}

func (a *API) reservation(w http.ResponseWriter, r *http.Request, member string) error {
	found, err := a.cfg.Booking.Get(r.Context(), member, r.PathValue("id"))
	if err != nil {
		return err
	}
	if a.admitted(w, r, member, found.ShowID) {
		answer(w, http.StatusOK, presentReservation(found))
	}
	return nil
}

func (a *API) cancelReservation(w http.ResponseWriter, r *http.Request, member string) error {
	found, err := a.cfg.Booking.Get(r.Context(), member, r.PathValue("id"))
	if err != nil {
		return err
	}
	if !a.inside(w, r, member, found.ShowID) {
		return nil
	}
	return a.cancelTicket(w, r, member)
}

func (a *API) tickets(w http.ResponseWriter, r *http.Request, member string) error {
	mine, err := a.cfg.Booking.List(r.Context(), member)
	if err != nil {
		return err
	}
	out := make([]reservationJSON, len(mine))
	for i, t := range mine {
		out[i] = presentReservation(t)
	}
	answer(w, http.StatusOK, map[string]any{"tickets": out})
	return nil
}

// cancelTicket ends a reservation at once (200), or requests its refund (202): then
// it ends when the money is back.
func (a *API) cancelTicket(w http.ResponseWriter, r *http.Request, member string) error {
	ended, err := a.cfg.Booking.Cancel(r.Context(), member, r.PathValue("id"))
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
