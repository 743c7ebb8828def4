package officetest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
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
	FreeTicket      Fault = "a reservation is confirmed without a charge"
	DoubleCharge    Fault = "a payment is charged under two keys"
	StuckHold       Fault = "an expired hold stays"
	NoLimits        Fault = "a fan gets as many seats as it asks for"
	LetGo           Fault = "the seats of a payment under way are let go when the hold ends"
	UnsoldSeat      Fault = "a seat of a ticket is available in the plan"
	DeadLetter      Fault = "an event is dead-lettered"
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

// Office is the fake.
type Office struct {
	URL, GatewayURL string

	fault  Fault
	hold   time.Duration
	drop   func(*http.Request) bool
	cut    func(*http.Request, int) bool
	ledger *ledger

	threshold int
	noFree    bool

	mu           sync.Mutex
	inside       map[string]map[string]bool // members by event
	line         map[string][]string
	most         int                // there ever were inside an event
	seats        map[string][]*seat // by event
	reservations map[string]*reservation
	payments     map[string]*payment // by id
	keys         map[string]*payment
	community    community
	once         sync.Once // the fault happens one time
	jobs         sync.WaitGroup
}

type seat struct {
	crowd.Seat
	owner string
}

type reservation struct {
	crowd.Ticket
	member string // whose ticket it is now
	buyer  string
	paying bool // it has a payment, which ends it or buys it
}

// limit is how many seats of a show a member may hold, and buy.
const limit = 6

type payment struct {
	crowd.PaymentAnswer
	key, card, member, kind, to string
	accepted                    bool // a transfer, by its receiver
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
	if cfg.Seats == 0 {
		cfg.Seats = 40
	}
	if cfg.Hold == 0 {
		cfg.Hold = time.Second
	}
	money := newLedger()
	gs := httptest.NewServer(money)
	o := &Office{
		GatewayURL: gs.URL, ledger: money, fault: cfg.Fault, hold: cfg.Hold, drop: cfg.Drop, cut: cfg.Cut,
		threshold: cfg.Threshold, noFree: cfg.NoFree, inside: map[string]map[string]bool{}, line: map[string][]string{}, seats: map[string][]*seat{},
		reservations: map[string]*reservation{}, payments: map[string]*payment{}, keys: map[string]*payment{}, community: newCommunity(),
	}
	for show := 1; show <= 2; show++ {
		id := fmt.Sprint("show-", show)
		for n := range cfg.Seats {
			o.seats[id] = append(o.seats[id], &seat{Seat: crowd.Seat{ID: fmt.Sprint("A-", n+1), Status: "AVAILABLE", Price: 1000 + int64(n)}})
		}
	}
	server := httptest.NewServer(o.handler())
	o.URL = server.URL
	t.Cleanup(func() {
		server.Close()
		gs.Close()
		o.jobs.Wait()
	})
	return o
}

func (o *Office) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(r *http.Request) (int, any){
		"POST /api/login":                 o.login,
		"POST /api/queue/check/{event}":   o.check,
		"POST /api/queue/leave/{event}":   o.leave,
		"GET /api/shows":                  o.shows,
		"GET /api/seats/{event}":          o.plan,
		"POST /api/seats/reserve":         o.reserve,
		"GET /api/reservations/{id}":      o.ask,
		"GET /api/me/tickets":             o.tickets,
		"DELETE /api/me/tickets/{id}":     o.cancel,
		"POST /api/payments":              o.pay,
		"GET /api/payments/{id}":          o.payment,
		"POST /api/payments/{id}/refund":  o.refund,
		"POST /api/transfers":             o.pay,
		"POST /api/transfers/{id}/accept": o.accept,
		"POST /api/memberships":           o.pay,
		"GET /api/admin/invariants":       o.invariants,
		"GET /api/admin/ops":              o.ops,
		"POST /api/shows/{id}/view":       o.view,
		"POST /api/shows/{id}/like":       o.like,
		"DELETE /api/shows/{id}/like":     o.like,
		"GET /api/me/likes":               o.likes,
		"POST /api/members/{id}/follow":   o.follow,
		"GET /api/me/follows":             o.follows,
		"POST /api/shows/{id}/comments":   o.comment,
		"GET /api/shows/{id}/comments":    o.comments,
		"DELETE /api/comments/{id}":       o.deleteComment,
		"POST /api/rooms/{id}/join":       o.join,
		"POST /api/rooms/{id}/messages":   o.say,
		"GET /api/rooms/{id}/messages":    o.messages,
		"GET /api/notifications":          o.inbox,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			code, body := handle(r)
			if o.drop != nil && o.drop(r) {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(body)
		})
	}
	mux.HandleFunc("GET /api/notifications/stream", o.stream)
	return mux
}

func problem(code int, format string, args ...any) (int, any) {
	return code, map[string]any{"status": code, "detail": fmt.Sprintf(format, args...)}
}

func member(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer member:")
}

// strikes reports true once, for the chosen fault.
func (o *Office) strikes(f Fault) (hit bool) {
	if o.fault == f {
		o.once.Do(func() { hit = true })
	}
	return hit
}

func (o *Office) login(r *http.Request) (int, any) {
	var in struct{ MemberID string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.community.known[in.MemberID] = true
	return 200, crowd.Login{Token: "member:" + in.MemberID}
}

func (o *Office) shows(*http.Request) (int, any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []crowd.Show
	for id, seats := range o.seats {
		s := crowd.Show{ID: id, CommentCount: int64(len(o.community.comments[id]))}
		if o.fault == MiscountComment {
			s.CommentCount++
		}
		s.Seats.Total, s.Limits = len(seats), crowd.Limits{Held: limit, Bought: limit}
		for _, x := range seats {
			if x.Status == "AVAILABLE" || o.fault == SellTwice {
				s.Seats.Available++
			}
		}
		list = append(list, s)
	}
	return 200, list
}

func (o *Office) plan(r *http.Request) (int, any) {
	event := r.PathValue("event")
	if r.Header.Get("x-queue-entry-token") != "entry:"+event+":"+member(r) {
		return problem(403, "Queue entry token required")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var plan crowd.Seats
	for _, s := range o.seats[event] {
		seat := s.Seat
		if o.fault == SellTwice || o.fault == UnsoldSeat && seat.Status == "SOLD" {
			seat.Status = "AVAILABLE"
		}
		plan.Seats = append(plan.Seats, seat)
	}
	return 200, plan
}

func (o *Office) reserve(r *http.Request) (int, any) {
	var in struct {
		EventID string
		SeatIDs []string
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	o.mu.Lock()
	defer o.mu.Unlock()
	var take []*seat
	amount := int64(0)
	for _, s := range o.seats[in.EventID] {
		if slices.Contains(in.SeatIDs, s.ID) {
			if s.Status != "AVAILABLE" && o.fault != SellTwice {
				return problem(409, "seat %s is taken", s.ID)
			}
			take, amount = append(take, s), amount+s.Price
		}
	}
	if o.has(member(r), in.EventID)+len(take) > limit && o.fault != NoLimits {
		return problem(409, "more seats than a member may have")
	}
	id := "r-" + rand.Text()
	for _, s := range take {
		s.Status, s.owner = "HOLD", id
	}
	ends := time.Now().Add(o.hold)
	o.reservations[id] = &reservation{member: member(r), buyer: member(r), Ticket: crowd.Ticket{
		ReservationID: id, EventID: in.EventID, SeatIDs: in.SeatIDs, Status: crowd.Held, Amount: amount, HoldExpiresAt: ends}}
	if o.fault != StuckHold {
		o.later(time.Until(ends), func() { o.timeOver(id) })
	}
	if o.strikes(WrongAmount) {
		amount++
	}
	return 201, crowd.Hold{ReservationID: id, Status: crowd.Held, Amount: amount, HoldExpiresAt: ends}
}

// has counts the seats of an event that a member holds or bought.
func (o *Office) has(member, event string) (n int) {
	for _, res := range o.reservations {
		if res.buyer == member && res.EventID == event && res.Status != crowd.Cancelled {
			n += len(res.SeatIDs)
		}
	}
	return n
}

// timeOver ends a hold, unless it has a payment.
func (o *Office) timeOver(id string) {
	if res := o.reservations[id]; res != nil && !res.paying {
		o.end(id, crowd.Held)
	}
}

// later runs fn under the lock after d. A test waits for it.
func (o *Office) later(d time.Duration, fn func()) {
	o.jobs.Add(1)
	time.AfterFunc(d, func() {
		defer o.jobs.Done()
		o.mu.Lock()
		defer o.mu.Unlock()
		fn()
	})
}

// end cancels a reservation that is still in the given state.
func (o *Office) end(id, state string) {
	res := o.reservations[id]
	if res == nil || res.Status != state {
		return
	}
	res.Status = crowd.Cancelled
	o.mark(id, "AVAILABLE")
}

func (o *Office) mark(id, status string) {
	for _, s := range o.seats[o.reservations[id].EventID] {
		if s.owner == id {
			if s.Status = status; status == "AVAILABLE" {
				s.owner = ""
			}
		}
	}
}

func (o *Office) ask(r *http.Request) (int, any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	res := o.reservations[r.PathValue("id")]
	if res == nil || res.member != member(r) {
		return problem(404, "no such reservation")
	}
	return 200, res.Ticket
}

func (o *Office) tickets(r *http.Request) (int, any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	mine := crowd.Tickets{}
	for _, res := range o.reservations {
		if res.member == member(r) {
			if res.Status == crowd.Confirmed && o.strikes(LoseTicket) {
				continue
			}
			mine.Tickets = append(mine.Tickets, res.Ticket)
		}
	}
	return 200, mine
}

func (o *Office) cancel(r *http.Request) (int, any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end(r.PathValue("id"), crowd.Held)
	return 204, nil
}
