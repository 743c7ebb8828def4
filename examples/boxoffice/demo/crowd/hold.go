package crowd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// holder holds seats, and lets them go.
type holder struct{ *visitor }

// holdSeats finds a show with free seats and holds 1 to 4 of them. It returns
// nil when everything is sold out.
func (h holder) holdSeats(ctx context.Context) (*Reservation, error) {
	want := 1 + h.chance.IntN(4)
	for range 3 { // held seats may come back: look again
		var shows []Show
		if _, err := h.client.Do(ctx, Call{Step: "shows", Method: http.MethodGet, Path: "/api/shows"}, &shows); err != nil {
			return nil, err
		}
		h.chance.Shuffle(len(shows), func(i, j int) { shows[i], shows[j] = shows[j], shows[i] })
		for _, show := range shows {
			if show.Seats.Available == 0 {
				continue
			}
			if err := h.think(ctx); err != nil {
				return nil, err
			}
			held, err := h.holdIn(ctx, show.ID, want)
			if held != nil && err == nil && h.rec.Plan == PlanGrasp {
				err = h.grasp(ctx, show.ID)
			}
			if err == nil {
				// A fan that waits for another show while it keeps its place here could wait for
				// a fan that does the opposite.
				err = h.leave(ctx, show.ID)
			}
			if held != nil || err != nil {
				return held, err
			}
		}
	}
	return nil, nil
}

// holdIn tries to hold seats of one show, with other seats after every conflict.
func (h holder) holdIn(ctx context.Context, event string, want int) (*Reservation, error) {
	for try := range 6 {
		var plan Seats
		call := Call{Step: "seats", Method: http.MethodGet, Path: "/api/seats/" + url.PathEscape(event)}
		err := h.guarded(ctx, event, call, &plan, nil)
		if errors.Is(err, errSoldOut) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		seats, amount := h.pick(plan.Seats, want, try)
		if len(seats) == 0 {
			return nil, nil
		}
		if err := h.think(ctx); err != nil {
			return nil, err
		}
		held, err := h.reserve(ctx, event, seats, amount)
		if held != nil || err != nil {
			return held, err
		}
		h.crowd.meter.Count(countConflict)
	}
	return nil, nil
}

// pick chooses neighbouring free seats; all fans prefer the front rows, and look
// further back after a conflict.
func (h holder) pick(seats []Seat, want, try int) (ids []string, amount int64) {
	free := slices.DeleteFunc(slices.Clone(seats), func(s Seat) bool { return s.Status != "AVAILABLE" })
	if len(free) == 0 {
		return nil, 0
	}
	want = min(want, len(free))
	at := h.chance.IntN(len(free) - want + 1)
	if try == 0 {
		at = min(at, h.chance.IntN(len(free)-want+1))
	}
	for _, s := range free[at : at+want] {
		ids, amount = append(ids, s.ID), amount+s.Price
	}
	return ids, amount
}

// reserve holds the seats. It returns nil when another fan was faster.
func (h holder) reserve(ctx context.Context, event string, seats []string, amount int64) (*Reservation, error) {
	var hold Hold
	var code int
	asked := time.Now()
	err := h.guarded(ctx, event, Call{Step: "hold", Method: http.MethodPost, Path: "/api/seats/reserve", Once: true,
		Body: map[string]any{"eventId": event, "seatIds": seats}, Accept: []int{http.StatusConflict}}, &hold, &code)
	if errors.Is(err, errSoldOut) {
		return nil, nil
	}
	if errors.Is(err, errLost) {
		return h.findHold(ctx, event, seats, amount)
	}
	if err != nil || code == http.StatusConflict {
		return nil, err
	}
	if code != http.StatusCreated || hold.ReservationID == "" || hold.Status != Held {
		return nil, fmt.Errorf("a hold was answered with %d %+v, not 201 and PENDING", code, hold)
	}
	if hold.Amount != amount {
		return nil, fmt.Errorf("seats %v cost %d by the seat plan and %d by reservation %s", seats, amount, hold.Amount, hold.ReservationID)
	}
	return h.keep(&Reservation{ID: hold.ReservationID, EventID: event, SeatIDs: seats, Amount: amount, Asked: asked, Expires: hold.HoldExpiresAt, Status: Held}), nil
}

// findHold looks for a hold whose answer was lost.
func (h holder) findHold(ctx context.Context, event string, seats []string, amount int64) (*Reservation, error) {
	var mine Tickets
	if _, err := h.client.Do(ctx, Call{Step: "ask", Method: http.MethodGet, Path: "/api/me/tickets", Token: h.rec.Token}, &mine); err != nil {
		return nil, err
	}
	for _, t := range mine.Tickets {
		if t.Status == Held && t.EventID == event && slices.Equal(slices.Sorted(slices.Values(t.SeatIDs)), slices.Sorted(slices.Values(seats))) {
			return h.keep(&Reservation{ID: t.ReservationID, EventID: event, SeatIDs: seats, Amount: amount, Expires: t.HoldExpiresAt, Status: Held}), nil
		}
	}
	return nil, nil
}

func (h holder) keep(r *Reservation) *Reservation {
	h.rec.Reservations = append(h.rec.Reservations, r)
	return r
}

func (h holder) letExpire(ctx context.Context, held *Reservation) (End, error) {
	if err := Sleep(ctx, time.Until(held.Expires)); err != nil {
		return "", err
	}
	if err := h.awaitReservation(ctx, held); err != nil {
		return "", err
	}
	if held.Status != Cancelled {
		return "", fmt.Errorf("reservation %s was not paid and is %s after its hold", held.ID, held.Status)
	}
	h.crowd.meter.Observe("hold timeout", max(time.Since(held.Expires), 0))
	return EndExpired, nil
}

func (h holder) cancel(ctx context.Context, held *Reservation) (End, error) {
	call := Call{Step: "cancel", Method: http.MethodDelete, Path: "/api/me/tickets/" + held.ID, Token: h.rec.Token,
		// A repeat after a lost answer, or a hold that just ended.
		Accept: []int{http.StatusNotFound, http.StatusConflict, http.StatusGone}}
	if _, err := h.client.Do(ctx, call, nil); err != nil {
		return "", err
	}
	if err := h.awaitReservation(ctx, held); err != nil {
		return "", err
	}
	if held.Status != Cancelled {
		return "", fmt.Errorf("reservation %s was cancelled and is %s", held.ID, held.Status)
	}
	return EndCancelled, nil
}
