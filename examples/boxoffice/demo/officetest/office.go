package officetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// Fault is one fault of the fake box office.
type Fault string

// The faults.
const (
	None            Fault = ""
	BrokenInvariant Fault = "one invariant is reported broken"
	SilentlyBroken  Fault = "invariants are not ok, and none says why"
	NoInvariants    Fault = "no invariants are reported"
	NeverRests      Fault = "never quiescent"
	SellTwice       Fault = "a taken seat is sold again"
	SecondPayment   Fault = "a repeated key makes a second payment"
	LosePayment     Fault = "a payment is forgotten"
	LoseTicket      Fault = "a confirmed reservation is forgotten"
	TakeBack        Fault = "confirmed reservations are cancelled later"
	LoseMembership  Fault = "a paid membership is not given"
	FreeTicket      Fault = "a reservation is confirmed without a charge"
	StrayCharge     Fault = "a card is charged for no payment"
	Overcharge      Fault = "a card is charged too much"
	DoubleCharge    Fault = "a payment is charged under two keys"
	RefuseHolds     Fault = "every hold is refused"
	ShortHold       Fault = "holds end at once"
	StuckHold       Fault = "an expired hold stays"
	NoLimits        Fault = "a fan gets as many seats as it asks for"
	LetGo           Fault = "the seats of a payment under way are let go when the hold ends"
	UnsoldSeat      Fault = "a seat of a ticket is available in the plan"
	DeadLetter      Fault = "an event is dead-lettered"
	Parked          Fault = "an event is parked"
	Unhandled       Fault = "a consumer has not handled an event"
	WrongAmount     Fault = "a hold costs more than its seats"
	ServerError     Fault = "a request is answered 500"
	FalseSoldOut    Fault = "a show with free seats lets nobody in"
	Silent          Fault = "operators get no answer"
	Overfull        Fault = "more are inside than may be"
	PushIn          Fault = "who comes later stands before those who wait"
	LoseComment     Fault = "a comment is forgotten"
	DoubleComment   Fault = "a comment is written twice"
	KeepComment     Fault = "a deleted comment stays"
	MiscountComment Fault = "a comment is not counted"
	LoseLike        Fault = "likes are forgotten"
	KeepLike        Fault = "likes stay that were taken back"
	LoseFollow      Fault = "who is followed is forgotten"
	LoseMessage     Fault = "an accepted message is not in the room"
	DoubleMessage   Fault = "a message is in the room twice"
	SwapMessages    Fault = "a room tells its messages in another order"
	LoseNotice      Fault = "a booking is in nobody's inbox"
	DoubleNotice    Fault = "a booking is in the inbox twice"
	StreamTwice     Fault = "streams tell everything twice"
	StreamOnly      Fault = "streams tell what is not in the inbox"
	StreamAlert     Fault = "streams tell of a message that is in no room"
)

// Admin is the admin token.
const Admin = "officetest-admin-token"

// Office is the fake, put together of its parts.
type Office struct {
	URL, GatewayURL string
	*room
}

// Config of an [Office].
type Config struct {
	Fault Fault
	Seats int           // per show; 0 means 40
	Hold  time.Duration // 0 means 1 s
	// Threshold is how many may be inside an event at once; 0 means any number, -1 none.
	Threshold int
	// NoFree tells the line that no seat is free.
	NoFree bool
	// Drop chooses requests whose answer gets lost after they took effect.
	Drop func(*http.Request) bool
	// Cut chooses live streams that break after told events.
	Cut func(r *http.Request, told int) bool
}

// Start starts a fake box office and its gateway for the time of a test.
func Start(t *testing.T, cfg Config) *Office {
	t.Helper()
	cfg.Seats = cmp.Or(cfg.Seats, 40)
	cfg.Hold = cmp.Or(cfg.Hold, time.Second)
	money := newLedger()
	gs := httptest.NewServer(money)
	faults := &trouble{fault: cfg.Fault, drop: cfg.Drop}
	members := newCommunity(faults)
	seats := &sale{trouble: faults, community: members, hold: cfg.Hold, seats: map[string][]*seat{}, reservations: map[string]*reservation{}}
	payments := &till{trouble: faults, sale: seats, community: members, ledger: money, payments: map[string]*payment{}, keys: map[string]*payment{}}
	waiting := &room{
		trouble: faults, sale: seats, threshold: cfg.Threshold, noFree: cfg.NoFree, inside: map[string]map[string]bool{}, line: map[string][]string{},
	}
	for show := 1; show <= 2; show++ {
		id := fmt.Sprint("show-", show)
		for n := range cfg.Seats {
			seats.seats[id] = append(seats.seats[id], &seat{Seat: crowd.Seat{ID: fmt.Sprint("A-", n+1), Status: "AVAILABLE", Price: 1000 + int64(n)}})
		}
	}
	server := httptest.NewServer(handler(waiting, seats, payments, members, &operator{faults, seats, payments}, &streams{faults, members, cfg.Cut}))
	t.Cleanup(func() {
		server.Close()
		gs.Close()
		faults.jobs.Wait()
	})
	return &Office{URL: server.URL, GatewayURL: gs.URL, room: waiting}
}

// handler has the routes of all parts. Each is answered under the lock of all.
func handler(w *room, s *sale, t *till, c *community, p *operator, live *streams) http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(r *http.Request) (int, any){
		"POST /api/login":                 c.login,
		"POST /api/queue/check/{event}":   w.check,
		"POST /api/queue/leave/{event}":   w.leave,
		"GET /api/shows":                  s.shows,
		"GET /api/seats/{event}":          s.plan,
		"POST /api/seats/reserve":         s.reserve,
		"GET /api/reservations/{id}":      s.ask,
		"GET /api/me/tickets":             s.tickets,
		"DELETE /api/me/tickets/{id}":     s.cancel,
		"POST /api/payments":              t.pay,
		"GET /api/payments/{id}":          t.payment,
		"POST /api/payments/{id}/refund":  t.refund,
		"POST /api/transfers":             t.pay,
		"POST /api/transfers/{id}/accept": t.accept,
		"POST /api/memberships":           t.pay,
		"GET /api/me/memberships":         t.memberships,
		"GET /api/admin/invariants":       p.invariants,
		"GET /api/admin/ops":              p.ops,
		"POST /api/shows/{id}/view":       c.view,
		"POST /api/shows/{id}/like":       c.like,
		"DELETE /api/shows/{id}/like":     c.like,
		"GET /api/me/likes":               c.listLikes,
		"POST /api/members/{id}/follow":   c.follow,
		"GET /api/me/follows":             c.listFollows,
		"POST /api/shows/{id}/comments":   c.comment,
		"GET /api/shows/{id}/comments":    c.listComments,
		"DELETE /api/comments/{id}":       c.deleteComment,
		"POST /api/rooms/{id}/join":       c.join,
		"POST /api/rooms/{id}/messages":   c.say,
		"GET /api/rooms/{id}/messages":    c.messages,
		"GET /api/notifications":          c.listInbox,
	} {
		mux.HandleFunc(pattern, func(out http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			code, body := handle(r)
			w.mu.Unlock()
			if w.drop != nil && w.drop(r) {
				panic(http.ErrAbortHandler)
			}
			out.Header().Set("Content-Type", "application/json")
			out.WriteHeader(code)
			_ = json.NewEncoder(out).Encode(body)
		})
	}
	mux.HandleFunc("GET /api/notifications/stream", live.stream)
	return mux
}

func problem(code int, format string, args ...any) (int, any) {
	return code, map[string]any{"status": code, "detail": fmt.Sprintf(format, args...)}
}

func member(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer member:")
}
