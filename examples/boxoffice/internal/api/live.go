package api

import (
	"errors"
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
	"github.com/millrace-go/millrace/fault"
)

// streamRoutes are the live streams, and the tickets that open them.
type streamRoutes struct {
	live  *live.Live
	login *auth.Login
}

func (s streamRoutes) mount(g *guard) {
	g.member("POST /api/notifications/ticket", s.ticket)
	g.public("GET "+live.Path, s.stream)
}

// ticket issues a ticket, for the address of a browser's EventSource or WebSocket.
func (s streamRoutes) ticket(w http.ResponseWriter, _ *http.Request, member string) error {
	ticket, expires, err := s.live.Ticket(member)
	return reply(w, http.StatusOK, map[string]any{"ticket": ticket, "expiresAt": expires}, err)
}

// stream is open for as long as the client stays, unlike all other requests.
func (s streamRoutes) stream(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet { // the pattern takes HEAD too
		return newProblem(http.StatusMethodNotAllowed, "method-not-allowed", "Not with this method", "a stream has no head alone; use GET").withHeader("Allow", http.MethodGet)
	}
	tab, err := s.tab(w, r)
	if err != nil {
		return err
	}
	_ = s.live.Serve(w, r, tab) // it has answered
	return nil
}

// tab identifies the tab: by the sign-in, or by a ticket.
func (s streamRoutes) tab(w http.ResponseWriter, r *http.Request) (live.Tab, error) {
	query := r.URL.Query()
	place := query.Get("place")
	if query.Has("place") && place != "free" {
		return live.Tab{}, invalid("place", "place must be free, or left out")
	}
	if r.Header.Get("Authorization") == "" && query.Has("ticket") {
		tab, err := s.live.Tab(w, r)
		tab.OnlyIfFree = place == "free"
		return tab, badTicket(err)
	}
	member, err := s.login.Member(r)
	if err != nil {
		return live.Tab{}, signIn(err)
	}
	token := query.Get("tab")
	if token != "" && !identifier.MatchString(token) {
		return live.Tab{}, invalid("tab", "tab must be 1 to 64 letters, digits, dots, dashes and underscores")
	}
	if token != "" {
		token = "tab:" + token // no ticket's
	}
	return live.Tab{Member: member, Token: token, OnlyIfFree: place == "free"}, nil
}

// badTicket explains the refusal of a ticket. It returns all other errors unchanged.
func badTicket(err error) error {
	if err == nil || fault.Of(err) == fault.Infrastructure {
		return err
	}
	for _, why := range []error{auth.ErrMissing, auth.ErrMalformed, auth.ErrSignature, auth.ErrExpired, live.ErrSpent} {
		if !errors.Is(err, why) {
			continue
		}
		said := words(why)
		if errors.Is(why, live.ErrSpent) {
			said = "used already, and by another browser"
		}
		return newProblem(http.StatusUnauthorized, "ticket-refused", "Another ticket is needed",
			"the ticket is %s; POST /api/notifications/ticket gives one for 30 s", said).
			with("reason", why.Error()).with("field", "ticket").withHeader("WWW-Authenticate", `Bearer realm="boxoffice"`)
	}
	return err
}
