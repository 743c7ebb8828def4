package api

import (
	"context"
	"net/http"
)

// Reports describe the office to an operator.
type Reports interface {
	// Report describes the state of the office, by the transport's last report;
	// ReportNow asks the transport.
	Report(ctx context.Context) (any, error)
	ReportNow(ctx context.Context) (any, error)
	// InvariantsNow checks that the books agree; RecentInvariants is the result of the
	// last check.
	InvariantsNow(ctx context.Context) (any, error)
	RecentInvariants(ctx context.Context) (any, error)
}

// reportRoutes are an operator's view of the office.
type reportRoutes struct{ of Reports }

func (o reportRoutes) mount(g *guard) {
	// The state of everything; with ?fresh=true the transport is asked, and its answer
	// awaited.
	g.operator("GET /api/admin/ops", either(o.of.Report, "fresh", o.of.ReportNow))
	// The books are audited now: a program that waits until everything is at rest must
	// not read an outdated result. With ?recent=true it is the last audit's.
	g.operator("GET /api/admin/invariants", either(o.of.InvariantsNow, "recent", o.of.RecentInvariants))
}

// either answers with one report, or with another if a parameter of the query is true.
func either(usual func(context.Context) (any, error), name string, other func(context.Context) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		set, err := flag(r, name)
		if err != nil {
			return err
		}
		look := usual
		if set {
			look = other
		}
		report, err := look(r.Context())
		return reply(w, http.StatusOK, report, err)
	}
}
