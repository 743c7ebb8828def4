package frontgate

import (
	"errors"
	"net/http"

	"github.com/millrace-go/millrace/queue/token"
)

// Guard sends a visitor of an event where the visitor belongs, with 302:
//
//	the gate is off                        /queue/{eventId}
//	it is on, and there is no valid token  /vwr/{eventId}
//	it is on, and there is one             /events/{eventId}
//
// Use it for the way in, such as the link of an event. It sends a visitor with a
// token to a page, which [Handlers.Protect] guards. Without a store it answers 503.
func (h *Handlers) Guard(w http.ResponseWriter, r *http.Request) {
	event := h.cfg.Event(r)
	to, _, err := h.gate.decide(r.Context(), event, h.token(r, event), h.members(r)...)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	paths := [...]string{open: h.cfg.QueuePath, closed: h.cfg.GatePath, passed: h.cfg.EventPath}
	redirect(w, r, pathTo(paths[to], event))
}

// Protect lets requests pass while the gate is off, and those with a valid token
// while it is on; it sends others to /vwr/{eventId} with 302. Without a store it
// answers 503, and no request passes.
func (h *Handlers) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event := h.cfg.Event(r)
		to, _, err := h.gate.decide(r.Context(), event, h.token(r, event), h.members(r)...)
		switch {
		case err != nil:
			h.fail(w, r, err)
		case to == closed:
			redirect(w, r, pathTo(h.cfg.GatePath, event))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// Position returns the position of a request by its verified token, from 1, and 0
// without a valid one. It fails with [ErrUnavailable] when the store cannot be
// asked for the counter of the token. It fits Config.Gate of package queuehttp.
func (h *Handlers) Position(r *http.Request, event string) (int64, error) {
	position, err := h.gate.Position(r.Context(), event, h.token(r, event), h.members(r)...)
	if token.Reason(err) != "" || errors.Is(err, ErrLost) {
		return 0, nil
	}
	return position, err
}

// NewPosition gives a visitor with a valid token a position in place of the token's,
// which another visitor has used in the line. The visitor goes on into the line, and
// stands there behind all positions given out until then. It returns 0 when the gate
// is off. It fails as [Handlers.Position] does, and fits Config.NewPosition of
// package queuehttp.
func (h *Handlers) NewPosition(r *http.Request, event string) (int64, error) {
	if position, err := h.Position(r, event); err != nil || position == 0 {
		return 0, err
	}
	return h.gate.renumber(r.Context(), event)
}

// token is the header's token, else the cookie's, else "".
func (h *Handlers) token(r *http.Request, event string) string {
	if values := r.Header.Values(tokenHeader); len(values) > 0 {
		return values[0]
	}
	c, err := r.Cookie(h.cfg.cookie(event))
	if err != nil {
		return ""
	}
	return c.Value
}

func redirect(w http.ResponseWriter, r *http.Request, path string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, path, http.StatusFound)
}
