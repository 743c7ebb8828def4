package app

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
)

// told are all events that were published, by the topics of the business.
func (p *process) told() (all []event.Event) {
	p.t.Helper()
	for _, topic := range []string{
		events.Payments, events.Reservations, events.Transfers, events.Memberships, events.Likes, events.Orders, events.Products, events.Domain,
	} {
		messages, err := p.app.office.bus.Browse(p.t.Context(), topic, 1000)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, m := range messages {
			e, err := event.Decode(m)
			if err != nil {
				p.t.Fatal(err)
			}
			all = append(all, e)
		}
	}
	return all
}

// TestCorrelation follows requests by their ids, without traces, from the first byte
// to the last event: also where a payment, a refund or a timeout came later.
func TestCorrelation(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir(), "--hold-seconds", "3")
	ann, bob := p.fan("ann"), p.fan("bob")
	as := func(f *fan, id string) *fan { f.request = id; return f }

	late := as(ann, "r-late").hold("B-1") // never paid for
	held := as(ann, "r-hold").hold("A-1", "A-2")
	payment := as(ann, "r-pay").pay(held, boxtest.Approve)
	ann.await(held.ReservationID, payment, "A-1", "CONFIRMED , SUCCESS , SOLD")
	as(ann, "r-refund").call(http.MethodPost, "/api/payments/"+payment+"/refund", "", nil, 202, nil)
	ann.await(held.ReservationID, payment, "A-1", "CANCELLED REFUNDED, REFUNDED USER_REQUEST, AVAILABLE")

	as(bob, "r-follow").call(http.MethodPost, "/api/members/ann/follow", "", nil, 204, nil)
	as(bob, "r-like").call(http.MethodPost, "/api/shows/show-2/like", "", nil, 204, nil)
	var comment struct{ ID string }
	as(bob, "r-comment").call(http.MethodPost, "/api/shows/show-2/comments", "", map[string]string{"text": "hello"}, 201, &comment)
	as(bob, "r-vote").call(http.MethodPost, "/api/shows/show-2/vote", "", map[string]string{"option": "Northbound"}, 204, nil)
	admin := &fan{p: p, token: p.app.AdminToken(), request: "r-close"}
	admin.call(http.MethodPost, "/api/shows/show-2/vote/close", "", nil, 204, nil)
	as(ann, "r-member").call(http.MethodPost, "/api/memberships", "membership-key", map[string]any{"amount": 30000, "card": boxtest.Approve}, 202, nil)
	ann.await(late.ReservationID, "", "B-1", "CANCELLED HOLD_TIMEOUT,  , AVAILABLE")

	// The request, type, actor, target and subject; and the cause, if there is one.
	want := []string{
		"r-close VoteClosed  show-2 show-2",
		"r-comment CommentCountDeltaPublished bob show-2 " + comment.ID,
		"r-comment CommentCreated bob show-2 " + comment.ID,
		"r-follow MemberFollowed bob ann ann",
		"r-hold ReservationCreated ann show-1 " + held.ReservationID,
		"r-late ReservationCancelled ann show-1 " + late.ReservationID,
		"r-late ReservationCreated ann show-1 " + late.ReservationID,
		"r-late ReservationNotice ann ann " + late.ReservationID,
		"r-like PostLiked bob show-2 show-2",
		"r-like ShowLiked bob show-2 show-2",
		"r-member MembershipActivated ann   < PaymentSuccess",
		"r-member PaymentSuccess ann  *",
		"r-pay OrderCompleted ann show-1 " + held.ReservationID + " < PaymentSuccess",
		"r-pay PaymentSuccess ann  " + held.ReservationID,
		"r-pay ReservationConfirmed ann show-1 " + held.ReservationID + " < PaymentSuccess",
		"r-pay ReservationNotice ann ann " + held.ReservationID + " < PaymentSuccess",
		"r-refund PaymentRefunded ann  " + held.ReservationID,
		"r-refund ReservationCancelled ann show-1 " + held.ReservationID + " < PaymentRefunded",
		"r-refund ReservationNotice ann ann " + held.ReservationID + " < PaymentRefunded",
	}
	var got []string
	boxtest.WaitFor(t, "the events of all requests", func() bool {
		got = nil
		all := p.told()
		byID := map[string]string{}
		for _, e := range all {
			byID[e.ID] = e.Type
		}
		for _, e := range all {
			about := e.RefID
			if e.Type == events.PaymentSuccess && about != held.ReservationID {
				about = "*" // the membership's
			}
			line := strings.Join([]string{e.CorrelationID, e.Type, e.ActorID, e.TargetID, about}, " ")
			if e.CausationID != "" {
				line += " < " + byID[e.CausationID]
			}
			got = append(got, line)
		}
		slices.Sort(got)
		return slices.Equal(got, want)
	}, func() string { return strings.Join(got, "\n") })
}

// TestCorrelationIsMadeAtTheDoor: an id is made if the request brings none, also for
// answers without a route.
func TestCorrelationIsMadeAtTheDoor(t *testing.T) {
	t.Parallel()
	p := start(t, "--data-dir", t.TempDir())
	seen := map[string]bool{}
	for _, path := range []string{"/", "/api/shows", "/api/nothing", "/api/me/tickets", "/vwr/check/show-1/x", "/nothing", "/healthz"} {
		_, header := p.get(path)
		id := header.Get("X-Request-Id")
		if len(id) != 36 || seen[id] {
			t.Errorf("%s is answered with the id %q", path, id)
		}
		seen[id] = true
	}
}
