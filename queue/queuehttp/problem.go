package queuehttp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue"
)

// Problem is the answer to a request that failed, in the format of RFC 9457. The
// names are:
//
//	401 sign-in-required    Config.User returned an error
//	404 event-not-found     ErrUnknownEvent
//	404 no-draw             the event has no opening with a draw, or it has not frozen
//	410 event-ended         ErrEnded
//	410 sold-out            ErrSoldOut
//	400 invalid-request     an id or a field is not valid
//	400 event-id-missing    the request names no event; 500 where the route should have had the id
//	403 challenge-needed    Challenge, with a question or redirectTo
//	429 too-many-joins      JoinRates; Retry-After
//	429 accessible-way-full Challenge.Accessible; Retry-After
//	404 no-figures          the store of the room keeps none
//	413 too-large           a body of more than 4 KB
//	503 unavailable         the store or another dependency is unreachable; Retry-After
//	500 internal            anything else
type Problem struct {
	Status     int
	Type       string // Config.Problems and the name
	Title      string
	Detail     string
	Field      string            // of the request's body; empty when it is about none
	Words      map[string]string // for visitors, by language: en, ko; of a page's own when nil
	Challenge  json.RawMessage   // a question of package challenge; nil for none
	RedirectTo string            // a path of this site where to go on; empty for none
	RetryAfter time.Duration     // zero: no header
	Err        error             // the cause, which is not written
}

// Write answers with the problem.
func (p *Problem) Write(w http.ResponseWriter) {
	body := struct {
		Type       string            `json:"type"`
		Title      string            `json:"title"`
		Status     int               `json:"status"`
		Detail     string            `json:"detail"`
		Field      string            `json:"field,omitempty"`
		Words      map[string]string `json:"words,omitempty"`
		Challenge  json.RawMessage   `json:"challenge,omitempty"`
		RedirectTo string            `json:"redirectTo,omitempty"`
	}{p.Type, p.Title, p.Status, p.Detail, p.Field, p.Words, p.Challenge, p.RedirectTo}
	text, err := json.Marshal(body)
	if err != nil { // strings and a number always can be
		text = []byte("{}")
	}
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((p.RetryAfter+time.Second-1)/time.Second), 10))
	}
	if p.Status == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	write(w, p.Status, "application/problem+json", append(text, '\n'))
}

func write(w http.ResponseWriter, status int, kind string, body []byte) {
	to := w.Header()
	to.Set("Content-Type", kind)
	to.Set("Cache-Control", "no-store")
	to.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

func (h *Handlers) problem(status int, name, title, detail string, err error) *Problem {
	return &Problem{Status: status, Type: h.cfg.Problems + name, Title: title, Detail: detail, Err: err}
}

// refusal is an error that is answered with a problem of its own.
type refusal struct{ problem *Problem }

func (r *refusal) Error() string { return r.problem.Title }

func (h *Handlers) invalid(field, detail string, err error) error {
	p := h.problem(http.StatusBadRequest, "invalid-request", "The request is not what this route takes", detail, err)
	p.Field = field
	return &refusal{p}
}

func (h *Handlers) signIn(err error) error {
	return &refusal{h.problem(http.StatusUnauthorized, "sign-in-required", "Sign in first", "the waiting room keeps places for those who are signed in", err)}
}

// problemOf finds the answer to an error.
func (h *Handlers) problemOf(err error) *Problem {
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		return refused.problem
	case errors.Is(err, ErrUnknownEvent):
		return h.problem(http.StatusNotFound, "event-not-found", "No such event", "there is no event with this id", err)
	case errors.Is(err, queue.ErrNoDraw):
		return h.problem(http.StatusNotFound, "no-draw", "There is no draw", "this event has no opening with a draw, or its leaves are not published yet", err)
	case errors.Is(err, ErrEnded):
		return h.problem(http.StatusGone, "event-ended", "The event has ended", "nobody can line up for this event any more", err)
	case errors.Is(err, ErrSoldOut):
		return h.problem(http.StatusGone, "sold-out", "Sold out", "there is nothing left to line up for", err)
	case errors.Is(err, queue.ErrNoFigures):
		return h.problem(http.StatusNotFound, "no-figures", "There are no figures", "the store of this room keeps none", err)
	case errors.Is(err, errNoEvent):
		return h.problemOf(h.noEvent(false))
	case errors.Is(err, queue.ErrInvalid):
		_, why, _ := strings.Cut(err.Error(), queue.ErrInvalid.Error()+": ")
		return h.problemOf(h.invalid("", why, err))
	case errors.Is(err, queue.ErrUnavailable), h.ours(err),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		p := h.problem(http.StatusServiceUnavailable, "unavailable", "Not available at the moment",
			"the waiting room cannot be asked at the moment; who has a place keeps it, ask again", err)
		p.RetryAfter = h.cfg.RetryAfter
		return p
	}
	return h.problem(http.StatusInternalServerError, "internal", "Something went wrong here", "something went wrong; it was written to the log", err)
}

// ours says whether the error is an outage of one of our dependencies.
func (h *Handlers) ours(err error) bool {
	return fault.Of(err, h.cfg.Classify) == fault.Infrastructure
}

// serve answers with the errors of a handler.
func (h *Handlers) serve(answer func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := answer(w, r); err != nil {
			h.fail(w, r, err)
		}
	})
}

// fail answers with an error.
func (h *Handlers) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := h.problemOf(err)
	// A request without an event was logged when its event was looked for.
	if p.Status >= http.StatusInternalServerError && r.Context().Err() == nil && !errors.Is(p.Err, errNoEvent) {
		h.complain(r, "queuehttp: a request could not be served", p.Err)
	}
	h.cfg.Fail(w, r, p)
}

// complain logs the details that clients don't see.
func (h *Handlers) complain(r *http.Request, what string, err error) {
	h.complaints.Error(r.Context(), h.cfg.Logger, what, err)
}
