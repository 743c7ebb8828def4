package api

import (
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/door"
	"github.com/millrace-go/millrace/queue/frontgate"
)

// entryCookie is the name of the entry token's cookie, before the event.
const entryCookie = "urr-entry-token-"

// newGate makes the handlers of the front gate.
func (a *API) newGate() (*frontgate.Handlers, error) {
	return frontgate.NewHandlers(a.cfg.Gate, frontgate.HTTPConfig{Member: a.member, Secure: door.HTTPS, Logger: a.log})
}

// member returns the signed-in member, or "": the gate is for all visitors.
func (a *API) member(r *http.Request) string {
	member, err := a.cfg.Login.Member(r)
	if err != nil {
		return ""
	}
	return member
}

// ofShow refuses requests about an unknown show, so that nobody can open a gate under
// an arbitrary name.
func (a *API) ofShow(h http.HandlerFunc) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := a.cfg.Catalog.Exists(r.Context(), r.PathValue("eventId")); err != nil {
			return err
		}
		h(w, r)
		return nil
	}
}

// Edge stands before the pages of an event's sale: while the front gate is on, it
// sends visitors to the gate, unless they have passed it or are inside already.
func (a *API) Edge(next http.Handler) http.Handler {
	guarded := a.gate.Protect(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event := r.PathValue("eventId")
		for _, c := range r.CookiesNamed(entryCookie + event) {
			if claims, err := a.cfg.Entries.Verify(c.Value); err == nil && claims.Event == event {
				next.ServeHTTP(w, r)
				return
			}
		}
		guarded.ServeHTTP(w, r)
	})
}
