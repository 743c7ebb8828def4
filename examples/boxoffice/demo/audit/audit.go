package audit

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
)

// Subject is the box office to audit.
type Subject struct {
	Office     Office
	GatewayURL string        // without it the ledger's checks are left out
	Patience   time.Duration // for coming to rest
	Crowd      *crowd.Crowd  // has ended
	Hold       time.Duration // how long a hold lasts; 0 when it is not known
	// Foreign states that others use the box office too: charges and tickets that no fan
	// knows are then not judged.
	Foreign bool
	// Lines has the waiting rooms judged: during the run no capacity was changed, and no
	// waiting room was lost.
	Lines bool
}

// Result of an audit.
type Result struct {
	Own     []judge.Check // the box office's own invariants
	Outside []judge.Check // by fans and the ledger
}

// OK reports whether every check holds.
func (r Result) OK() bool { return len(r.Own) > 0 && judge.Verdict(r.All()) == nil }

// All are the checks of both.
func (r Result) All() []judge.Check { return slices.Concat(r.Own, r.Outside) }

// The names of the checks from outside.
const (
	checkRest         = "came to rest"
	checkReservations = "reservations are as told"
	checkPayments     = "payments are as told"
	checkPaid         = "paid means ticket or money back"
	checkTwice        = "no seat promised to two fans"
	checkLimits       = "no fan above a show's limits"
	checkLate         = "no accepted payment came too late"
	checkPlan         = "the seat plan is the fans' tickets"
	checkOpen         = "nothing is left open"
	checkLedger       = "gateway's ledger, one by one"
	checkKeys         = "gateway's ledger, one charge per key"
	checkGivenUp      = "nothing was dead-lettered or parked"
	checkOdd          = "fans saw nothing odd"
	checkPlaces       = "nobody inside beyond the places"
	checkOrder        = "let in in order of arrival"
	checkLikes        = "likes and follows are as told"
	checkNotices      = "every booking is in the inbox once"
	checkStreams      = "nothing came twice on one stream"
	checkKept         = "what came live is kept"
	checkComments     = "comments are as told"
	checkCounts       = "comment counts are the comments"
	checkChat         = "chat messages are as told, in order"
)

// audit is one run.
type audit struct {
	s        Subject
	find     judge.Findings
	records  []*crowd.Record
	mu       sync.Mutex
	tickets  map[string]crowd.Ticket // by reservation
	owners   map[string]string       // member by reservation
	payments []payment
}

// Run waits for rest and audits. The error is non-nil only when ctx ended.
func Run(ctx context.Context, s Subject) (Result, error) {
	a := &audit{s: s, records: s.Crowd.Records(), tickets: map[string]crowd.Ticket{}, owners: map[string]string{}}
	start := time.Now()
	inv, err := s.Office.Rest(ctx, s.Patience)
	a.find.Announce(checkRest, "after %.1f s", time.Since(start).Seconds())
	if err != nil {
		a.find.Fault(checkRest, "%v", err)
	}
	a.askFans(ctx)
	a.judgeReservations()
	a.judgePayments()
	a.judgeSeats(ctx)
	a.judgeLimits(ctx)
	a.judgeLate()
	a.judgeLedger(ctx)
	community{s, &a.find, a.records}.judge(ctx)
	a.judgeOps(ctx)
	a.judgeRooms()
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	return Result{Own: ownChecks(inv), Outside: a.find.Checks()}, nil
}

// ownChecks shows an "ok: false" that no check explains as a check of its own.
func ownChecks(inv Invariants) []judge.Check {
	checks := slices.Clone(inv.Checks)
	if !inv.OK && !slices.ContainsFunc(checks, func(c judge.Check) bool { return !c.OK }) {
		checks = append(checks, judge.Check{Name: "all invariants", Detail: "the box office does not say which one is broken"})
	}
	return checks
}

// judgeOps checks for dead letters, and the load generator's complaints. Events apart
// from the books, such as requests for artists, may wait or be dead letters.
func (a *audit) judgeOps(ctx context.Context) {
	ops, err := a.s.Office.Ops(ctx)
	a.find.Announce(checkGivenUp, "%d published, backlog %d", ops.Outbox.Published, ops.Outbox.Backlog)
	if err != nil {
		a.find.Fault(checkGivenUp, "%v", err)
	}
	if ops.Outbox.Failed > 0 {
		a.find.Fault(checkGivenUp, "%d events are parked in the outbox", ops.Outbox.Failed)
	}
	for _, dead := range ops.DeadLetters {
		if dead.Count > 0 && !dead.Apart {
			a.find.Fault(checkGivenUp, "%d dead letters on %s", dead.Count, dead.Topic)
		}
	}
	for _, c := range ops.Consumers {
		if c.Lag > 0 && !c.Apart {
			a.find.Fault(checkGivenUp, "%s has not handled %d events of %s (%s %s)", c.Group, c.Lag, c.Topic, c.State, c.LastError)
		}
	}
	odd, n := a.s.Crowd.Violations()
	a.find.Announce(checkOdd, "%d requests answered", a.s.Crowd.Meter().Requests())
	if n > 0 {
		a.find.Fault(checkOdd, "%s", strings.Join(odd[:min(3, len(odd))], "; ")+judge.More(n-3))
	}
}
