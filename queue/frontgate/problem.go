package frontgate

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

// problem is an error answer; its type goes on after HTTPConfig.Problems.
func problem(name, title string, status int, detail string) *queuehttp.Problem {
	return &queuehttp.Problem{Type: name, Title: title, Status: status, Detail: detail}
}

func problemOf(err error) *queuehttp.Problem {
	switch {
	case errors.Is(err, ErrOff):
		return problem("gate-off", "The gate is off", http.StatusConflict, "no position is needed; the way is open")
	case errors.Is(err, errRequest):
		return problem("request-not-found", "No such request id", http.StatusNotFound, "the request id was never given out for this event; ask for a position")
	case errors.Is(err, ErrLost):
		return problem("position-lost", "The position is lost", http.StatusGone, "the request id is too old, or its counter was lost; ask for a new position")
	case errors.As(err, new(*http.MaxBytesError)):
		return problem("too-large", "The body is too large", http.StatusRequestEntityTooLarge, "send at most "+strconv.Itoa(maxBody)+" bytes")
	case errors.Is(err, driver.ErrInvalid):
		_, why, _ := strings.Cut(err.Error(), driver.ErrInvalid.Error()+": ")
		return problem("invalid-request", "The request is not what this route takes", http.StatusBadRequest, why)
	case errors.Is(err, ErrUnavailable), fault.Of(err) == fault.Infrastructure,
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return problem("unavailable", "Not available at the moment", http.StatusServiceUnavailable, "the gate cannot be asked at the moment; who has a position keeps it, ask again")
	}
	return problem("internal", "Something went wrong here", http.StatusInternalServerError, "something went wrong; it was written to the log")
}

// fail answers with an error.
func (h *Handlers) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		h.complaints.Error(r.Context(), h.cfg.Logger, "frontgate: a request could not be served", err, "status", p.Status)
	}
	if errors.Is(err, ErrOff) {
		p.RedirectTo = pathTo(h.cfg.QueuePath, h.cfg.Event(r))
	}
	if p.Status == http.StatusServiceUnavailable {
		p.RetryAfter = h.cfg.RetryAfter
	}
	p.Type = h.cfg.Problems + p.Type
	p.Write(w)
}
