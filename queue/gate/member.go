package gate

import (
	"context"
	"net/http"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

// visitor is the visitor of a request, as its cookies tell.
type visitor struct {
	browser string // by the gate's own cookie, or empty
	member  string // by Config.Member, or empty
	lane    string
}

func (g *Gate) visitorOf(r *http.Request) (v visitor) {
	// Another host of the domain may have set a cookie of the name: the signature
	// tells which one is the gate's.
	for _, c := range r.CookiesNamed(visitorCookie) {
		if user, err := g.visitors.Open(c.Value); err == nil {
			v.browser = user
			break
		}
	}
	if g.cfg.Member != nil {
		v.member, v.lane = g.cfg.Member(r)
	}
	return v
}

func (v visitor) known() bool { return v.browser != "" || v.member != "" }

// laneAs is the lane of a visitor that joins as a user. A browser that keeps its own place
// has none of a member: else each browser with a copy of the member's cookie had one.
func (v visitor) laneAs(user string) string {
	if v.member != "" && v.member != user {
		return ""
	}
	return v.lane
}

// userIn is the user whose place counts. A member who has waited as a browser before signing
// in keeps that place; it costs a call of the store until the member has a ticket.
func (g *Gate) userIn(r *http.Request, v visitor) (string, error) {
	switch {
	case v.member == "":
		return v.browser, nil
	case v.browser == "":
		return v.member, nil
	}
	ticket := r.Header.Get(queuehttp.TicketHeader)
	if _, err := g.tickets.Open(ticket, g.cfg.Event, v.member); err == nil {
		return v.member, nil
	}
	place, err := g.room.Heartbeat(r.Context(), g.cfg.Event, queue.Visitor{User: v.browser, Ticket: ticket})
	if err != nil || place.Status != queue.None {
		return v.browser, err
	}
	return v.member, nil
}

// placed is what the handlers of the room are told of a visitor.
type placed struct {
	user, lane string
	err        error
}

type placedKey struct{}

// withPlace has a request tell the handlers of the room whose place counts.
func (g *Gate) withPlace(r *http.Request, v visitor) *http.Request {
	user, err := g.userIn(r, v)
	return r.WithContext(context.WithValue(r.Context(), placedKey{}, placed{user, v.laneAs(user), err}))
}

func placedOf(r *http.Request) placed {
	p, _ := r.Context().Value(placedKey{}).(placed)
	return p
}

func userOf(r *http.Request) (string, error) {
	p := placedOf(r)
	return p.user, p.err
}

func laneOf(r *http.Request, _ string) string { return placedOf(r).lane }
