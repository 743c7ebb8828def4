package api

import (
	"errors"
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
)

// nextPoll is when an admitted client should ask again, in seconds.
const nextPoll = 3

// place is where a member stands; times are seconds.
type place struct {
	Status        string `json:"status"` // active, queued, none
	Queued        bool   `json:"queued"`
	Position      int    `json:"position"`
	PeopleAhead   int    `json:"peopleAhead"`
	PeopleBehind  int    `json:"peopleBehind"`
	EstimatedWait int    `json:"estimatedWait"`
	NextPoll      int    `json:"nextPoll"`
	CurrentUsers  int    `json:"currentUsers"`
	Threshold     int    `json:"threshold"`
	QueueSize     int    `json:"queueSize"`
	EntryToken    string `json:"entryToken,omitempty"`
}

// queueCheck admits at once.
func (a *API) queueCheck(w http.ResponseWriter, r *http.Request, member string) error {
	event := r.PathValue("eventId")
	if err := a.cfg.Catalog.Exists(r.Context(), event); err != nil {
		return err
	}
	token, err := a.cfg.Entry.Issue(member, event)
	if err != nil {
		return err
	}
	a.cfg.Entry.SetCookie(w, r, event, token)
	answer(w, http.StatusOK, place{Status: "active", NextPoll: nextPoll, Threshold: a.cfg.Threshold, EntryToken: token})
	return nil
}

// queueStatus tells the members who were admitted from those who were not.
func (a *API) queueStatus(w http.ResponseWriter, r *http.Request, member string) error {
	event := r.PathValue("eventId")
	if err := a.cfg.Catalog.Exists(r.Context(), event); err != nil {
		return err
	}
	if a.cfg.Entry.Check(r, member, event) == nil {
		return a.queueCheck(w, r, member)
	}
	answer(w, http.StatusOK, place{Status: "none", NextPoll: nextPoll, Threshold: a.cfg.Threshold})
	return nil
}

func (a *API) queueLeave(w http.ResponseWriter, r *http.Request, _ string) error {
	event := r.PathValue("eventId")
	if err := a.cfg.Catalog.Exists(r.Context(), event); err != nil {
		return err
	}
	a.cfg.Entry.ClearCookie(w, r, event)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// admitted guards a route of an event. It reports false after it has answered.
func (a *API) admitted(w http.ResponseWriter, r *http.Request, member, event string) bool {
	err := a.cfg.Entry.Check(r, member, event)
	if err == nil {
		return true
	}
	body := map[string]string{"error": "Queue entry token required", "redirectTo": "/queue"}
	if !errors.Is(err, auth.ErrMissing) {
		body["error"], body["reason"] = "Queue entry token invalid", err.Error()
	}
	answer(w, http.StatusForbidden, body)
	return false
}
