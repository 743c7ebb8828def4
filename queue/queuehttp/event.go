package queuehttp

import (
	"errors"
	"log/slog"
	"net/http"
	"sync"
)

// errNoEvent says that the event of a request is not known, so that a guard cannot
// check any token. [Handlers.Guard] and the handlers answer such a request with the
// problem event-id-missing, and log how to fix the route.
var errNoEvent = errors.New("queuehttp: the request does not say which event it is about")

// finder returns the event of a request.
type finder struct {
	find func(*http.Request) string
	own  bool // find is pathEvent, so that an empty id is the route's fault
	once sync.Once
}

// pathEvent reads what [http.ServeMux] and routers that call SetPathValue found.
func pathEvent(r *http.Request) string { return r.PathValue("eventId") }

// newFinder makes a finder of the first function that is not nil.
func newFinder(of ...func(*http.Request) string) *finder {
	for _, find := range of {
		if find != nil {
			return &finder{find: find}
		}
	}
	return &finder{find: pathEvent, own: true}
}

// event returns the event's id. No request may pass without one: a token cannot be for
// an empty id.
func (h *Handlers) event(r *http.Request, f *finder) (string, error) {
	if event := f.find(r); event != "" {
		return event, nil
	}
	f.once.Do(func() {
		route := r.Pattern
		if route == "" {
			route = r.Method + " " + r.URL.Path
		}
		h.cfg.Logger.ErrorContext(r.Context(),
			"queuehttp: no event id in a request, so nobody passes this route; name the route's value {eventId}, "+
				"or give Config.Event or GuardConfig.Event a function that finds the id, or call SetPathValue(\"eventId\", …) before; logged once",
			slog.String("route", route), slog.Bool("default_event", f.own))
	})
	return "", h.noEvent(f.own)
}

// noEvent is the answer to a request without an event: the server's fault when the
// route should have had its id, the client's when a function of the program's looked
// for it in the request.
func (h *Handlers) noEvent(ours bool) error {
	if ours {
		return &refusal{h.problem(http.StatusInternalServerError, "event-id-missing", "This route names no event",
			"the server's route does not say which event it is about; it was written to the log", errNoEvent)}
	}
	return &refusal{h.problem(http.StatusBadRequest, "event-id-missing", "Which event?", "the request does not say which event it is about", errNoEvent)}
}
