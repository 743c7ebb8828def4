package crowd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

// visitor is a member in the waiting rooms of shows.
type visitor struct {
	crowd  *Crowd
	client *Client
	rec    *Record
	chance *rand.Rand
	entry  map[string]string // entry token by event
	inside map[string]bool   // or in line, by event
}

func (v *visitor) signIn(ctx context.Context, member string) (token string, err error) {
	var login Login
	_, err = v.client.Do(ctx, Call{Step: "sign in", Method: http.MethodPost, Path: "/api/login",
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
func (v *visitor) enter(ctx context.Context, event string) error {
	start := time.Now()
	nearest, since := math.MaxInt, start
	free := start // when there last was a free seat
	passage, fresh := Passage{Event: event, Asked: start}, !v.inside[event]
	position := 0 // that it was told last
	for ticket := ""; ; {
		var place Place
		asked := time.Now()
		code, err := v.client.Do(ctx, Call{Method: http.MethodPost, Path: "/api/queue/check/" + url.PathEscape(event), Token: v.rec.Token,
			Ticket: ticket, Accept: []int{http.StatusGone}}, &place)
		if err != nil {
			return err
		}
		if code == http.StatusGone {
			return errSoldOut
		}
		v.crowd.rooms.answered(event, place)
		if passage.Told.IsZero() {
			passage.Told = time.Now()
		}
		ticket = place.Ticket
		v.inside[event] = true // or in line, which is left in the same way
		if place.Status == "active" {
			if place.EntryToken == "" {
				return fmt.Errorf("the waiting room of %s admits without an entry token", event)
			}
			v.entry[event] = place.EntryToken
			passage.Entered = time.Now()
			v.crowd.meter.Observe("waiting room", passage.Entered.Sub(start))
			if fresh { // a fan that was inside already overtakes no other
				v.crowd.rooms.passed(passage)
			}
			return nil
		}
		if passage.Waited() && len(v.crowd.cfg.Others) == 0 {
			v.crowd.rooms.moved(event, position, place.Position)
		}
		passage.Queued, position = asked, place.Position
		if place.Position < nearest {
			nearest, since = place.Position, time.Now()
		}
		if place.SoldOut {
			since = time.Now() // that it does not move is no wonder
		} else {
			free, passage.Open = time.Now(), asked
		}
		if time.Since(free) > v.crowd.cfg.Patience {
			if err := v.leave(ctx, event); err != nil {
				return err
			}
			return errSoldOut
		}
		if time.Since(since) > v.crowd.cfg.Patience {
			return fmt.Errorf("waiting room of %s, position %d: %w of %v", event, place.Position, errStuck, v.crowd.cfg.Patience)
		}
		wait := time.Duration(place.NextPoll * float64(time.Second))
		if err := Sleep(ctx, max(wait, 50*time.Millisecond)); err != nil {
			return err
		}
	}
}

// leave gives the place in a show back, so that the next fan comes in. The entry
// token still opens reads.
func (v *visitor) leave(ctx context.Context, event string) error {
	if !v.inside[event] {
		return nil
	}
	_, err := v.client.Do(ctx, Call{Method: http.MethodPost, Path: "/api/queue/leave/" + url.PathEscape(event), Token: v.rec.Token}, nil)
	if err == nil {
		delete(v.inside, event)
	}
	return err
}

// guarded sends a call that needs the entry token of a show, and passes the waiting
// room (again) when there is none or it has expired. code, when not nil, receives the
// status.
func (v *visitor) guarded(ctx context.Context, event string, call Call, into any, code *int) error {
	call.Token = v.rec.Token
	for fresh := false; ; fresh = true {
		if fresh || v.entry[event] == "" {
			if err := v.enter(ctx, event); err != nil {
				return err
			}
			fresh = true
		}
		call.Entry = v.entry[event]
		got, err := v.client.Do(ctx, call, into)
		if code != nil {
			*code = got
		}
		if got == http.StatusForbidden && !fresh {
			continue
		}
		return err
	}
}

// think is the pause of a person between two steps.
func (v *visitor) think(ctx context.Context) error { return think(ctx, v.chance, v.crowd.cfg.Think) }

func think(ctx context.Context, chance *rand.Rand, longest time.Duration) error {
	if longest < 0 {
		return ctx.Err()
	}
	return Sleep(ctx, time.Duration(chance.Int64N(int64(longest)+1)))
}

var errStuck = errors.New("nothing changed within the fan's patience")

// poll polls until done, less often the longer it takes.
func (v *visitor) poll(ctx context.Context, done func() (bool, error)) error {
	deadline := time.Now().Add(v.crowd.cfg.Patience)
	for wait := 60 * time.Millisecond; ; wait = min(wait*5/4, 500*time.Millisecond) {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w of %v", errStuck, v.crowd.cfg.Patience)
		}
		if err := Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// awaitReservation asks until the reservation is no longer pending.
func (v *visitor) awaitReservation(ctx context.Context, held *Reservation) error {
	err := v.poll(ctx, func() (bool, error) {
		err := v.askReservation(ctx, held)
		return held.Status != Held, err
	})
	if err != nil {
		return fmt.Errorf("reservation %s, %s: %w", held.ID, held.Status, err)
	}
	return nil
}

func (v *visitor) askReservation(ctx context.Context, held *Reservation) error {
	var t Ticket
	if err := v.guarded(ctx, held.EventID, Call{Step: "ask", Method: http.MethodGet, Path: "/api/reservations/" + held.ID}, &t, nil); err != nil {
		return err
	}
	held.Status = t.Status
	return nil
}
