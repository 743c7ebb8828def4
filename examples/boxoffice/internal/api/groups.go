package api

import (
	"context"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
)

// Groups are the consumer groups. One can be reset.
type Groups interface {
	Groups(ctx context.Context) (any, error)
	ResetGroup(ctx context.Context, topic, group string, r ops.Reset) (any, error)
}

// groupRoutes are an operator's view of the consumer groups.
type groupRoutes struct{ of Groups }

func (g groupRoutes) mount(on *guard) {
	on.operator("GET /api/admin/groups", g.groups)
	on.operator("POST /api/admin/groups/{topic}/{group}/reset", g.reset)
}

// groups lists the consumer groups, by the transport's current answer.
func (g groupRoutes) groups(w http.ResponseWriter, r *http.Request) error {
	list, err := g.of.Groups(r.Context())
	return reply(w, http.StatusOK, list, err)
}

// reset moves a group that has no members.
func (g groupRoutes) reset(w http.ResponseWriter, r *http.Request) error {
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
	done, err := g.of.ResetGroup(r.Context(), r.PathValue("topic"), r.PathValue("group"),
		ops.Reset{Latest: body.To == "latest", Since: body.Since, DryRun: body.DryRun})
	return reply(w, http.StatusOK, done, err)
}
