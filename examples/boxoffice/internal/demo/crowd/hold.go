package crowd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"
)

func (f *fan) signIn(ctx context.Context, member string) (token string, err error) {
	var login Login
	_, err = f.client.Do(ctx, Call{Step: "sign in", Method: http.MethodPost, Path: "/api/login",
		Body: map[string]string{"memberId": member}}, &login)
	if err == nil && login.Token == "" {
		err = fmt.Errorf("the sign-in of %s gave no token", member)
	}
	return login.Token, err
}

// errSoldOut means that nobody is admitted any more, since all seats are sold.
var errSoldOut = errors.New("the show is sold out")

// enter passes the waiting room of a show. It polls when it is told to, and stops
// when its position has not improved for as long as a fan is patient. A fan that is told
// for as long that no seat is free leaves the line, as from a show that is sold out.
func (f *fan) enter(ctx context.Context, event string) error {
	start := time.Now()
	nearest, since := math.MaxInt, start
	free := start // when there last was a free seat
	passage, fresh := Passage{Event: event, Asked: start}, !f.inside[event]
	position := 0 // that it was told last
	for ticket := ""; ; {
		var place Place
		asked := time.Now()
		code, err := f.client.Do(ctx, Call{Method: http.MethodPost, Path: "/api/queue/check/" + url.PathEscape(event), Token: f.rec.Token,
			Ticket: ticket, Accept: []int{http.StatusGone}}, &place)
		if err != nil {
			return err
		}
		if code == http.StatusGone {
			return errSoldOut
		}
		f.crowd.rooms.answered(event, place)
		if passage.Told.IsZero() {
			passage.Told = time.Now()
		}
		ticket = place.Ticket
		f.inside[event] = true // or in line, which is left in the same way
		if place.Status == "active" {
			if place.EntryToken == "" {
				return fmt.Errorf("the waiting room of %s admits without an entry token", event)
			}
			f.entry[event] = place.EntryToken
			passage.Entered = time.Now()
			f.crowd.meter.Observe("waiting room", passage.Entered.Sub(start))
			if fresh { // a fan that was inside already overtakes no other
				f.crowd.rooms.passed(passage)
			}
			return nil
		}
		if passage.Waited() && len(f.crowd.cfg.Others) == 0 {
			f.crowd.rooms.moved(event, position, place.Position)
		}
		passage.Queued, position = asked, place.Position
		if place.Position < nearest {
			nearest, since = place.Position, time.Now()
		}
		if place.SoldOut {
			since = time.Now() // that it does not move is no wonder
		} else {
			free = time.Now()
		}
		if time.Since(free) > f.crowd.cfg.Patience {
			if err := f.leave(ctx, event); err != nil {
				return err
			}
			return errSoldOut
		}
		if time.Since(since) > f.crowd.cfg.Patience {
			return fmt.Errorf("waiting room of %s, position %d: %w of %v", event, place.Position, errStuck, f.crowd.cfg.Patience)
		}
		wait := time.Duration(place.NextPoll * float64(time.Second))
		if err := Sleep(ctx, max(wait, 50*time.Millisecond)); err != nil {
			return err
		}
	}
}

// leave gives the place in a show back, so that the next fan comes in. The entry
// token still opens reads.
func (f *fan) leave(ctx context.Context, event string) error {
	if !f.inside[event] {
		return nil
	}
	_, err := f.client.Do(ctx, Call{Method: http.MethodPost, Path: "/api/queue/leave/" + url.PathEscape(event), Token: f.rec.Token}, nil)
	if err == nil {
		delete(f.inside, event)
	}
	return err
}

// guarded sends a call that needs the entry token of a show, and passes the waiting
// room (again) when there is none or it has expired. code, when not nil, receives the
// status.
func (f *fan) guarded(ctx context.Context, event string, call Call, into any, code *int) error {
	call.Token = f.rec.Token
	for fresh := false; ; fresh = true {
		if fresh || f.entry[event] == "" {
			if err := f.enter(ctx, event); err != nil {
				return err
			}
			fresh = true
		}
		call.Entry = f.entry[event]
		got, err := f.client.Do(ctx, call, into)
		if code != nil {
			*code = got
		}
		if got == http.StatusForbidden && !fresh {
			continue
		}
		return err
	}
}

// holdSeats finds a show with free seats and holds 1 to 4 of them. It returns
// nil when everything is sold out.
func (f *fan) holdSeats(ctx context.Context) (*Reservation, error) {
	want := 1 + f.chance.IntN(4)
	for range 3 { // held seats may come back: look again
		var shows []Show
		if _, err := f.client.Do(ctx, Call{Step: "shows", Method: http.MethodGet, Path: "/api/shows"}, &shows); err != nil {
			return nil, err
		}
		f.chance.Shuffle(len(shows), func(i, j int) { shows[i], shows[j] = shows[j], shows[i] })
		for _, show := range shows {
			if show.Seats.Available == 0 {
				continue
			}
			if err := f.think(ctx); err != nil {
				return nil, err
			}
			held, err := f.holdIn(ctx, show.ID, want)
			if held != nil && err == nil && f.rec.Plan == PlanGrasp {
				err = f.grasp(ctx, show.ID)
			}
			if err == nil {
				// A fan that waits for another show while it keeps its place here could wait for
				// a fan that does the opposite.
				err = f.leave(ctx, show.ID)
			}
			if held != nil || err != nil {
				return held, err
			}
		}
	}
	return nil, nil
}

// holdIn tries to hold seats of one show, with other seats after every conflict.
func (f *fan) holdIn(ctx context.Context, event string, want int) (*Reservation, error) {
	for try := range 6 {
		var plan Seats
		call := Call{Step: "seats", Method: http.MethodGet, Path: "/api/seats/" + url.PathEscape(event)}
		err := f.guarded(ctx, event, call, &plan, nil)
		if errors.Is(err, errSoldOut) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		seats, amount := f.pick(plan.Seats, want, try)
		if len(seats) == 0 {
			return nil, nil
		}
		if err := f.think(ctx); err != nil {
			return nil, err
		}
		held, err := f.reserve(ctx, event, seats, amount)
		if held != nil || err != nil {
			return held, err
		}
		f.crowd.meter.Count(countConflict)
	}
	return nil, nil
}

// pick chooses neighbouring free seats; all fans prefer the front rows, and look
// further back after a conflict.
func (f *fan) pick(seats []Seat, want, try int) (ids []string, amount int64) {
	free := slices.DeleteFunc(slices.Clone(seats), func(s Seat) bool { return s.Status != "AVAILABLE" })
	if len(free) == 0 {
		return nil, 0
	}
	want = min(want, len(free))
	at := f.chance.IntN(len(free) - want + 1)
	if try == 0 {
		at = min(at, f.chance.IntN(len(free)-want+1))
	}
	for _, s := range free[at : at+want] {
		ids, amount = append(ids, s.ID), amount+s.Price
	}
	return ids, amount
}

// reserve holds the seats. It returns nil when another fan was faster.
func (f *fan) reserve(ctx context.Context, event string, seats []string, amount int64) (*Reservation, error) {
	var hold Hold
	var code int
	err := f.guarded(ctx, event, Call{Step: "hold", Method: http.MethodPost, Path: "/api/seats/reserve", Once: true,
		Body: map[string]any{"eventId": event, "seatIds": seats}, Accept: []int{http.StatusConflict}}, &hold, &code)
	if errors.Is(err, errSoldOut) {
		return nil, nil
	}
	if errors.Is(err, errLost) {
		return f.findHold(ctx, event, seats, amount)
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
	return f.keep(&Reservation{ID: hold.ReservationID, EventID: event, SeatIDs: seats, Amount: amount, Expires: hold.HoldExpiresAt, Status: Held}), nil
}

// findHold looks for a hold whose answer was lost.
func (f *fan) findHold(ctx context.Context, event string, seats []string, amount int64) (*Reservation, error) {
	var mine Tickets
	if _, err := f.client.Do(ctx, Call{Step: "ask", Method: http.MethodGet, Path: "/api/me/tickets", Token: f.rec.Token}, &mine); err != nil {
		return nil, err
	}
	for _, t := range mine.Tickets {
		if t.Status == Held && t.EventID == event && slices.Equal(sorted(t.SeatIDs), sorted(seats)) {
			return f.keep(&Reservation{ID: t.ReservationID, EventID: event, SeatIDs: seats, Amount: amount, Expires: t.HoldExpiresAt, Status: Held}), nil
		}
	}
	return nil, nil
}

func (f *fan) keep(r *Reservation) *Reservation {
	f.rec.Reservations = append(f.rec.Reservations, r)
	return r
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}
