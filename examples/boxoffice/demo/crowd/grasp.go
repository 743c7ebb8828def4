package crowd

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// A fan that grasps sends so many holds at once, of so many seats each. Together with its
// first hold they exceed the limits of shows.
const (
	grasps     = 4
	graspSeats = 3
)

// grasp asks for many more seats of a show at once, records the fan's seats then, and
// gives back all but the earlier ones.
func (h holder) grasp(ctx context.Context, event string) error {
	var plan Seats
	call := Call{Step: "seats", Method: http.MethodGet, Path: "/api/seats/" + url.PathEscape(event)}
	err := h.guarded(ctx, event, call, &plan, nil)
	if errors.Is(err, errSoldOut) {
		return nil
	}
	if err != nil {
		return err
	}
	ids, _ := h.pick(plan.Seats, grasps*graspSeats, 1)
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for seats := range slices.Chunk(ids, graspSeats) {
		all.Go(func() {
			if err := h.graspAt(ctx, event, seats); err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if failed != nil {
		return failed
	}
	return h.letGo(ctx, event, len(ids))
}

// graspAt asks for some seats. The fan's tickets show the outcome.
func (h holder) graspAt(ctx context.Context, event string, seats []string) error {
	_, err := h.client.Do(ctx, Call{
		Step: "grasp", Method: http.MethodPost, Path: "/api/seats/reserve", Once: true, Token: h.rec.Token, Entry: h.entry[event],
		Body: map[string]any{"eventId": event, "seatIds": seats}, Accept: []int{http.StatusConflict, http.StatusForbidden},
	}, nil)
	if errors.Is(err, errLost) {
		return nil
	}
	return err
}

// letGo records the fan's seats of a show, and gives back all but the earlier ones.
func (h holder) letGo(ctx context.Context, event string, asked int) error {
	var mine Tickets
	if _, err := h.client.Do(ctx, Call{Step: "ask", Method: http.MethodGet, Path: "/api/me/tickets", Token: h.rec.Token}, &mine); err != nil {
		return err
	}
	h.rec.Grasp = &Grasp{EventID: event, Asked: asked}
	var more []*Reservation
	for _, t := range mine.Tickets {
		switch {
		case t.EventID != event:
		case t.Status == Confirmed:
			h.rec.Grasp.Bought += len(t.SeatIDs)
		case t.Status == Held:
			h.rec.Grasp.Held += len(t.SeatIDs)
			if !slices.ContainsFunc(h.rec.Reservations, func(r *Reservation) bool { return r.ID == t.ReservationID }) {
				more = append(more, h.keep(&Reservation{
					ID: t.ReservationID, EventID: event, SeatIDs: t.SeatIDs, Amount: t.Amount, Expires: t.HoldExpiresAt, Status: Held,
				}))
			}
		}
	}
	for _, r := range more {
		if _, err := h.cancel(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
