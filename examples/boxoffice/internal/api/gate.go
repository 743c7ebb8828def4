package api

import "net/http"

// entryCookie is the name of the entry token's cookie, before the event.
const entryCookie = "urr-entry-token-"

// member returns the signed-in member, or "": the gate is for all visitors.
func (q *waitingRoutes) member(r *http.Request) string {
	member, err := q.guard.login.Member(r)
	if err != nil {
		return ""
	}
	return member
}

// ofShow refuses requests about an unknown show, so that nobody can open a gate under
// an arbitrary name.
func (q *waitingRoutes) ofShow(h http.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := q.catalog.Exists(r.Context(), r.PathValue("eventId")); err != nil {
			return err
		}
		h.ServeHTTP(w, r)
		return nil
	}
}

// edge is [API.Edge].
func (q *waitingRoutes) edge(next http.Handler) http.Handler {
	guarded := q.gate.Protect(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event := r.PathValue("eventId")
		for _, c := range r.CookiesNamed(entryCookie + event) {
			if _, err := q.entries.Verify(c.Value, event); err == nil {
				next.ServeHTTP(w, r)
				return
			}
		}
		guarded.ServeHTTP(w, r)
	})
}
