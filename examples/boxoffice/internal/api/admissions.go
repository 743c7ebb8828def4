package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/admissions"
)

// AdmissionState says whether admissions get rows.
type AdmissionState string

// The states.
const (
	AdmissionsOn        AdmissionState = "on"
	AdmissionsOff       AdmissionState = "off"       // admissions are not published
	AdmissionsAway      AdmissionState = "away"      // the transport of the notices is not open
	AdmissionsElsewhere AdmissionState = "elsewhere" // another program reads the notices, and each has one reader
)

// Admissions lists the newest admissions of the waiting room.
type Admissions interface {
	// Newest returns the newest, the latest first.
	Newest(ctx context.Context, limit int) ([]admissions.Admission, error)
	State() AdmissionState
}

// admissions lists the newest admissions; ?limit=N, 50 by default.
func (a *API) admissions(w http.ResponseWriter, r *http.Request) error {
	limit := 50
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > admissions.MaxNewest {
			return invalid("limit", "limit must be a whole number from 1 to %d", admissions.MaxNewest)
		}
		limit = n
	}
	newest, err := a.cfg.Admissions.Newest(r.Context(), limit)
	if err != nil {
		return err
	}
	type admission struct {
		EventID    string    `json:"eventId"`
		UserID     string    `json:"userId"`
		AdmittedAt time.Time `json:"admittedAt"`
	}
	list := make([]admission, len(newest))
	for i, n := range newest {
		list[i] = admission(n)
	}
	answer(w, http.StatusOK, map[string]any{"state": a.cfg.Admissions.State(), "admissions": list})
	return nil
}
