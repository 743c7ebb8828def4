package api

import (
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
)

// groups lists the consumer groups, by the transport's current answer.
func (a *API) groups(w http.ResponseWriter, r *http.Request) error {
	list, err := a.cfg.Operator.Groups(r.Context())
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, list)
	return nil
}

// resetGroup moves a group that has no members.
func (a *API) resetGroup(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		To     string    `json:"to"`
		Since  time.Time `json:"since"`
		DryRun bool      `json:"dryRun"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	switch {
	case (body.To == "") == body.Since.IsZero():
		return invalid("to", `say where the group is to begin: "to", which is earliest or latest, or "since", a time`)
	case body.To != "" && body.To != "earliest" && body.To != "latest":
		return invalid("to", `the field "to" must be earliest or latest; send "since" for a time`)
	}
	done, err := a.cfg.Operator.ResetGroup(r.Context(), r.PathValue("topic"), r.PathValue("group"),
		ops.Reset{Latest: body.To == "latest", Since: body.Since, DryRun: body.DryRun})
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, done)
	return nil
}
