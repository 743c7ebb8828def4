package officetest

import (
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/audit"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
)

// operator answers an operator's questions.
type operator struct {
	*trouble
	sale *sale
	till *till
}

func (p *operator) invariants(r *http.Request) (int, any) {
	if r.Header.Get("Authorization") != "Bearer "+Admin {
		return problem(401, "an admin token is needed")
	}
	inv := audit.Invariants{OK: true, Quiescent: p.fault != NeverRests, Checks: []judge.Check{
		{Name: "sold seats = seats of confirmed reservations", OK: true}, {Name: "no event lost", OK: true}}}
	for _, one := range p.till.payments {
		if one.Status == crowd.Processing {
			inv.Quiescent = false
		}
	}
	for _, res := range p.sale.reservations {
		if res.Status == crowd.Held && p.fault != StuckHold {
			inv.Quiescent = false
		}
	}
	switch p.fault {
	case BrokenInvariant:
		inv.OK, inv.Checks[1] = false, judge.Check{Name: "no event lost", Detail: "3 events are missing"}
	case SilentlyBroken:
		inv.OK = false
	case NoInvariants:
		inv.Checks = nil
	case Silent:
		return problem(500, "the database is away")
	}
	return 200, inv
}

func (p *operator) ops(r *http.Request) (int, any) {
	if r.Header.Get("Authorization") != "Bearer "+Admin {
		return problem(401, "an admin token is needed")
	}
	count := func(f Fault) int {
		if p.fault == f {
			return 2
		}
		return 0
	}
	return 200, map[string]any{
		"outbox":    map[string]any{"backlog": 0, "published": 7, "failed": count(Parked)},
		"consumers": []map[string]any{{"topic": "payment.events", "lag": count(Unhandled)}, {"topic": "update-priority-low", "lag": 3, "apart": true}},
		"deadLetters": []map[string]any{
			{"topic": "dlq.payment", "count": count(DeadLetter)},
			{"topic": "update-dlq", "count": 3, "apart": true}, // of no concern to the books
		},
	}
}
