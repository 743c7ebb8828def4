package officetest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

type seat struct {
	crowd.Seat
	owner string
}

type reservation struct {
	crowd.Ticket
	member string // whose ticket it is now
	buyer  string
	paying bool // it has a payment, which ends it or buys it
}

// limit is how many seats of a show a member may hold, and buy.
const limit = 6

// sale has the seats and the reservations.
type sale struct {
	*trouble
	community    *community
	hold         time.Duration
	seats        map[string][]*seat // by event
	reservations map[string]*reservation
}

func (a *sale) shows(*http.Request) (int, any) {
	var list []crowd.Show
	for id, seats := range a.seats {
		s := crowd.Show{ID: id, CommentCount: int64(len(a.community.comments[id]))}
		if a.fault == MiscountComment {
			s.CommentCount++
		}
		s.Seats.Total, s.Limits = len(seats), crowd.Limits{Held: limit, Bought: limit}
		for _, x := range seats {
			if x.Status == "AVAILABLE" || a.fault == SellTwice {
				s.Seats.Available++
			}
		}
		list = append(list, s)
	}
	return 200, list
}

func (a *sale) plan(r *http.Request) (int, any) {
	event := r.PathValue("event")
	if r.Header.Get("x-queue-entry-token") != "entry:"+event+":"+member(r) {
		return problem(403, "Queue entry token required")
	}
	var plan crowd.Seats
	for _, s := range a.seats[event] {
		seat := s.Seat
		if a.fault == SellTwice || a.fault == UnsoldSeat && seat.Status == "SOLD" {
			seat.Status = "AVAILABLE"
		}
		plan.Seats = append(plan.Seats, seat)
	}
	return 200, plan
}

func (a *sale) reserve(r *http.Request) (int, any) {
	var in struct {
		EventID string
		SeatIDs []string
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	var take []*seat
	amount := int64(0)
	for _, s := range a.seats[in.EventID] {
		if slices.Contains(in.SeatIDs, s.ID) {
			if s.Status != "AVAILABLE" && a.fault != SellTwice || a.fault == RefuseHolds {
				return problem(409, "seat %s is taken", s.ID)
			}
			take, amount = append(take, s), amount+s.Price
		}
	}
	if a.has(member(r), in.EventID)+len(take) > limit && a.fault != NoLimits {
		return problem(409, "more seats than a member may have")
	}
	id := "r-" + rand.Text()
	for _, s := range take {
		s.Status, s.owner = "HOLD", id
	}
	ends := time.Now().Add(a.hold)
	a.reservations[id] = &reservation{member: member(r), buyer: member(r), Ticket: crowd.Ticket{
		ReservationID: id, EventID: in.EventID, SeatIDs: in.SeatIDs, Status: crowd.Held, Amount: amount, HoldExpiresAt: ends}}
	switch a.fault {
	case StuckHold:
	case ShortHold:
		a.timeOver(id)
	default:
		a.later(time.Until(ends), func() { a.timeOver(id) })
	}
	if a.strikes(WrongAmount) {
		amount++
	}
	return 201, crowd.Hold{ReservationID: id, Status: crowd.Held, Amount: amount, HoldExpiresAt: ends}
}

// has counts the seats of an event that a member holds or bought.
func (a *sale) has(member, event string) (n int) {
	for _, res := range a.reservations {
		if res.buyer == member && res.EventID == event && res.Status != crowd.Cancelled {
			n += len(res.SeatIDs)
		}
	}
	return n
}

// timeOver ends a hold, unless it has a payment.
func (a *sale) timeOver(id string) {
	if res := a.reservations[id]; res != nil && (!res.paying || a.fault == LetGo) {
		a.end(id, crowd.Held)
	}
}

// end cancels a reservation that is still in the given state.
func (a *sale) end(id, state string) {
	res := a.reservations[id]
	if res == nil || res.Status != state {
		return
	}
	res.Status = crowd.Cancelled
	a.mark(id, "AVAILABLE")
}

func (a *sale) mark(id, status string) {
	for _, s := range a.seats[a.reservations[id].EventID] {
		if s.owner == id {
			if s.Status = status; status == "AVAILABLE" {
				s.owner = ""
			}
		}
	}
}

func (a *sale) ask(r *http.Request) (int, any) {
	res := a.reservations[r.PathValue("id")]
	if res == nil || res.member != member(r) {
		return problem(404, "no such reservation")
	}
	return 200, res.Ticket
}

func (a *sale) tickets(r *http.Request) (int, any) {
	mine := crowd.Tickets{}
	for _, res := range a.reservations {
		if res.member == member(r) {
			if res.Status == crowd.Confirmed && a.strikes(LoseTicket) {
				continue
			}
			mine.Tickets = append(mine.Tickets, res.Ticket)
		}
	}
	return 200, mine
}

func (a *sale) cancel(r *http.Request) (int, any) {
	a.end(r.PathValue("id"), crowd.Held)
	return 204, nil
}
