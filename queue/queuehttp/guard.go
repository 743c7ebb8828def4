package queuehttp

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/internal/tokens"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/token"
)

// reason is the word for a refusal of a request, and empty for other errors: one of
// [token.Reason], or that the token is valid but its user is no longer inside by it.
func reason(err error) string {
	if errors.Is(err, queue.ErrNotActive) {
		return "not_active"
	}
	return token.Reason(err)
}

// GuardConfig is the configuration of [Handlers.Guard]. The zero value guards
// reads of the event that Config.Event names.
type GuardConfig struct {
	// Event returns the event of a request; Config.Event by default.
	Event func(*http.Request) string
	// Writes asks the room as well, at the cost of a call of the store: for
	// operations that must not be done with the token of a user who has left. It
	// does not accept passes of an edge.
	Writes bool
}

// Guard lets requests pass whose user has an entry token for the event. It answers
// other requests with 403:
//
//	{"error":"Queue entry token required","redirectTo":"/queue"}
//	{"error":"Queue entry token invalid","reason":"expired","redirectTo":"/queue"}
//
// A reason is a word of [token.Reason], or not_active after the user's time inside has ended.
// A request whose event is not known is answered with the problem event-id-missing,
// and the first of a guard is logged: see Config.Event.
func (h *Handlers) Guard(cfg GuardConfig) func(http.Handler) http.Handler {
	events := newFinder(cfg.Event, h.cfg.Event)
	admit := h.Admit
	if cfg.Writes {
		admit = h.AdmitWrite
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			event, err := h.event(r, events)
			user := ""
			if err == nil {
				user, err = h.user(r)
			}
			if err != nil {
				h.fail(w, r, err)
				return
			}
			if err := admit(r, user, event); err != nil {
				h.Refuse(w, r, err)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// Admit is the guard for handlers that learn the event from the request's body: nil
// when the request's entry token, or an edge's pass, admits the user to the event; else an
// error of which [token.Reason] tells why, or that event is empty. [Handlers.Refuse] answers
// it.
func (h *Handlers) Admit(r *http.Request, user, event string) error {
	if event == "" {
		return errNoEvent
	}
	if h.passed(r, user, event) {
		return nil
	}
	_, err := h.claims(r, user, event)
	return err
}

// AdmitWrite is like Admit, needs the token itself, and asks the room whether the
// user is still inside by the admission that the token was made for: else the error is
// [queue.ErrNotActive]. It may also say that the room could not be asked.
func (h *Handlers) AdmitWrite(r *http.Request, user, event string) error {
	if event == "" {
		return errNoEvent
	}
	c, err := h.claims(r, user, event)
	if err != nil {
		return err
	}
	return h.room.Verify(r.Context(), c.Event, c.User, c.ID)
}

func (h *Handlers) claims(r *http.Request, user, event string) (token.EntryClaims, error) {
	c, err := h.entries.Verify(h.carried(r, EntryHeader, h.cfg.EntryCookie, event), event)
	if err == nil && c.User != user {
		err = seal.ErrUser
	}
	return c, err
}

// passed says whether a trusted edge has signed this very request. An invalid pass
// has no effect.
func (h *Handlers) passed(r *http.Request, user, event string) bool {
	if h.passes == nil || user == "" {
		return false
	}
	pass := r.Header.Get(PassHeader)
	return pass != "" && h.passes.Check(pass, tokens.Pass{Method: r.Method, Path: wirePath(r), Event: event, User: user}) == nil
}

// wirePath is the path as the client sent it: a mux may have stripped a part of
// r.URL since then.
func wirePath(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		path, _, _ := strings.Cut(r.RequestURI, "?")
		return path
	}
	return r.URL.EscapedPath()
}

// Refuse answers with an error of Admit or AdmitWrite: 403 as [Handlers.Guard] does, 400
// for an empty event, 503 with Retry-After when the room could not be asked.
func (h *Handlers) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	why := reason(err)
	if why == "" {
		h.fail(w, r, err)
		return
	}
	body := struct {
		Error    string `json:"error"`
		Reason   string `json:"reason,omitempty"`
		Redirect string `json:"redirectTo"`
	}{"Queue entry token invalid", why, h.cfg.Redirect}
	if errors.Is(err, token.ErrMissing) {
		body.Error, body.Reason = "Queue entry token required", ""
	}
	text, err := json.Marshal(body)
	if err != nil { // strings always can be
		text = []byte("{}")
	}
	write(w, http.StatusForbidden, "application/json", text)
}
