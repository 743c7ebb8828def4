package audit_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/audit"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/officetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hold is how long seats are held.
const hold = 2 * time.Second

// verdict is the result of an audit of one fake box office.
type verdict struct {
	audit.Result
	err error
}

// inspect sends a small crowd through fake box offices with these faults, some
// at the same time, and audits each.
func inspect(t *testing.T, faults ...officetest.Fault) map[officetest.Fault]verdict {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	places := make(chan struct{}, 8)
	verdicts := map[officetest.Fault]verdict{}
	for _, fault := range faults {
		seats := 40
		if fault == officetest.SellTwice {
			seats = 8 // so that fans meet
		}
		threshold := 0
		if fault == officetest.PushIn {
			threshold = 1 // so that a line forms
		}
		o := officetest.Start(t, officetest.Config{Fault: fault, Seats: seats, Threshold: threshold, Hold: hold})
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			r, err := visit(t.Context(), o, fault)
			mu.Lock()
			defer mu.Unlock()
			verdicts[fault] = verdict{r, err}
		})
	}
	wg.Wait()
	return verdicts
}

func visit(ctx context.Context, o *officetest.Office, fault officetest.Fault) (audit.Result, error) {
	fans, err := crowd.New(crowd.Config{URL: o.URL, Fans: 24, Think: time.Millisecond, Patience: 8 * time.Second})
	if err != nil {
		return audit.Result{}, err
	}
	if err := fans.Run(ctx); err != nil {
		return audit.Result{}, err
	}
	client := &crowd.Client{URL: o.URL, HTTP: crowd.NewHTTP(16), Patience: time.Second}
	defer client.HTTP.CloseIdleConnections()
	patience := 10 * time.Second
	if fault == officetest.NeverRests || fault == officetest.MiscountComment {
		patience = 300 * time.Millisecond
	}
	return audit.Run(ctx, audit.Subject{
		Office: audit.Office{Client: client, Admin: officetest.Admin}, GatewayURL: o.GatewayURL, Patience: patience, Crowd: fans, Hold: hold, Lines: true,
	})
}

func TestAuditPassesARightOffice(t *testing.T) {
	r := inspect(t, officetest.None)[officetest.None]
	if r.err != nil || !r.OK() {
		t.Errorf("a right box office was found wrong: %+v", r)
	}
	if len(r.Own) != 2 || len(r.Outside) != 22 {
		t.Errorf("%d own and %d outside checks: %+v", len(r.Own), len(r.Outside), r)
	}
}

func TestAuditFindsWhatIsBroken(t *testing.T) {
	want := map[officetest.Fault]string{
		officetest.BrokenInvariant: "no event lost",
		officetest.SilentlyBroken:  "all invariants",
		officetest.NoInvariants:    "", // nothing to name, and not OK
		officetest.Silent:          "came to rest",
		officetest.NeverRests:      "came to rest",
		officetest.SellTwice:       "no seat promised to two fans",
		officetest.LosePayment:     "payments are as told",
		officetest.LoseTicket:      "reservations are as told",
		officetest.TakeBack:        "paid means ticket or money back",
		officetest.LoseMembership:  "paid means ticket or money back",
		officetest.FreeTicket:      "gateway's ledger, one by one",
		officetest.StrayCharge:     "gateway's ledger, one by one",
		officetest.Overcharge:      "gateway's ledger, one by one",
		officetest.DoubleCharge:    "gateway's ledger, one charge per key",
		officetest.RefuseHolds:     "reservations are as told",
		officetest.ShortHold:       "reservations are as told",
		officetest.StuckHold:       "nothing is left open",
		officetest.NoLimits:        "no fan above a show's limits",
		officetest.LetGo:           "no accepted payment came too late",
		officetest.UnsoldSeat:      "the seat plan is the fans' tickets",
		officetest.FalseSoldOut:    "the seat plan is the fans' tickets",
		officetest.DeadLetter:      "nothing was dead-lettered or parked",
		officetest.Parked:          "nothing was dead-lettered or parked",
		officetest.Unhandled:       "nothing was dead-lettered or parked",
		officetest.ServerError:     "fans saw nothing odd",
		officetest.Overfull:        "nobody inside beyond the places",
		officetest.PushIn:          "let in in order of arrival",
		officetest.LoseComment:     "comments are as told",
		officetest.DoubleComment:   "comments are as told",
		officetest.KeepComment:     "comments are as told",
		officetest.MiscountComment: "comment counts are the comments",
		officetest.LoseLike:        "likes and follows are as told",
		officetest.KeepLike:        "likes and follows are as told",
		officetest.LoseFollow:      "likes and follows are as told",
		officetest.LoseMessage:     "chat messages are as told, in order",
		officetest.DoubleMessage:   "chat messages are as told, in order",
		officetest.SwapMessages:    "chat messages are as told, in order",
		officetest.LoseNotice:      "every booking is in the inbox once",
		officetest.DoubleNotice:    "every booking is in the inbox once",
		officetest.StreamTwice:     "nothing came twice on one stream",
		officetest.StreamOnly:      "what came live is kept",
		officetest.StreamAlert:     "what came live is kept",
	}
	for fault, r := range inspect(t, slices.Collect(maps.Keys(want))...) {
		if r.err != nil || r.OK() {
			t.Errorf("%s: nothing was found: %+v", fault, r)
		}
		named := func(c judge.Check) bool { return c.Name == want[fault] && !c.OK && c.Detail != "" }
		if want[fault] != "" && !slices.ContainsFunc(append(r.Own, r.Outside...), named) {
			t.Errorf("%s: %q is not broken: %+v", fault, want[fault], r)
		}
	}
}

func TestAuditStops(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Fault: officetest.NeverRests})
	fans, err := crowd.New(crowd.Config{URL: o.URL, Fans: 1})
	require.NoError(t, err)
	client := &crowd.Client{URL: o.URL, HTTP: crowd.NewHTTP(1), Patience: time.Second}
	t.Cleanup(client.HTTP.CloseIdleConnections)
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	start := time.Now()
	_, err = audit.Run(ctx, audit.Subject{Office: audit.Office{Client: client, Admin: officetest.Admin}, Patience: time.Minute, Crowd: fans})
	if err == nil || !strings.Contains(err.Error(), "context") || time.Since(start) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}
