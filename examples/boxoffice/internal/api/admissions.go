package api

import (
	"context"
	"net/http"
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

// admissionRoutes show an operator the newest admissions.
type admissionRoutes struct{ of Admissions }

func (a admissionRoutes) mount(g *guard) { g.operator("GET /api/admin/admissions", a.newest) }

// newest lists the newest admissions; ?limit=N, 50 by default.
func (a admissionRoutes) newest(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r, 50, admissions.MaxNewest)
	if err != nil {
		return err
	}
	newest, err := a.of.Newest(r.Context(), limit)
	type admission struct {
		EventID    string    `json:"eventId"`
		UserID     string    `json:"userId"`
		AdmittedAt time.Time `json:"admittedAt"`
	}
	list := each(newest, func(n admissions.Admission) admission { return admission(n) })
	return reply(w, http.StatusOK, map[string]any{"state": a.of.State(), "admissions": list}, err)
}
