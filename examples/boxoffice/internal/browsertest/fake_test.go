package browsertest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/site"
)

// fake is a box office in memory that can be put into the states that a real
// one reaches only now and then: a full waiting room, a payment that came too
// late, broken invariants, no answer at all. It speaks the same routes.
type fake struct {
	address string
	server  *httptest.Server

	mu           sync.Mutex
	shows        []catalog.Show
	seats        map[string][]*fakeSeat
	reservations map[string]*fakeReservation
	order        []string // of reservations
	payments     map[string]*fakePayment
	keys         map[string]string        // idempotency key → payment
	keysSeen     []string                 // every key that was sent, with repeats
	waiting      int                      // people ahead of everybody, when above 0
	still        bool                     // the line does not move by itself
	over         bool                     // places in the house have ended
	endless      bool                     // without an end
	stale        int                      // how many holds are refused because of the entry token
	broken       error                    // the answer of the site's backend
	away         bool                     // reports that it is unhealthy
	cancels      int                      // requests to cancel a reservation
	losing       string                   // the path of posts that take effect and whose answers are lost
	late         map[string]chan struct{} // by path: the first answer waits until it is closed
	hold         time.Duration
	ops          func(n int) (any, any) // answers of the admin routes for the nth look
	looks        int
	admissions   any // the operator's list of them
	letters      fakeLetters
	groups       fakeGroups
	artists      fakeArtists
	rooms        fakeRooms // as an operator sees them
	social       fakeSocial
	inbox        fakeInbox
	chat         fakeChat
	streams      *fakeStreams
}

type fakeSeat struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Price  int64  `json:"price"`
	owner  string
}

type fakeReservation struct {
	ID            string    `json:"reservationId"`
	EventID       string    `json:"eventId"`
	SeatIDs       []string  `json:"seatIds"`
	Status        string    `json:"status"`
	HoldExpiresAt time.Time `json:"holdExpiresAt"`
	Amount        int64     `json:"amount"`
	Reason        string    `json:"reason,omitempty"`
	PaymentID     string    `json:"paymentId,omitempty"`
	PaymentStatus string    `json:"paymentStatus,omitempty"`
	member        string
}

type fakePayment struct {
	ID          string `json:"paymentId"`
	Status      string `json:"status"`
	Reason      string `json:"failureReason,omitempty"`
	card        string
	reservation string
}

const fakeAdmin = "fake-admin-token"

// startFake starts one for a test, which runs in parallel from here on.
func startFake(t *testing.T) *fake {
	t.Helper()
	t.Parallel()
	f := &fake{
		seats: map[string][]*fakeSeat{}, reservations: map[string]*fakeReservation{},
		payments: map[string]*fakePayment{}, keys: map[string]string{}, hold: 5 * time.Minute, ops: calmOps,
		admissions: admittedOf("on", "yuna", "minho", "sora"),
		artists:    fakeArtists{views: map[string]map[string]any{}, looks: map[string]int{}},
	}
	for i, title := range []string{"Moonlight Parade", "The Paper Kites of Busan", "Night Train to Gangneung", "A Hundred Small Drums", "Winter, Unplugged"} {
		id := fmt.Sprint("show-", i+1)
		f.shows = append(f.shows, billed(catalog.Show{ID: id, Title: title}, i))
		for row := range 20 {
			for n := 1; n <= 25; n++ {
				seat := &fakeSeat{ID: fmt.Sprintf("%c-%d", 'A'+row, n), Status: "AVAILABLE", Price: 90000}
				if row < 5 {
					seat.Price = 150000
				} else if row < 12 {
					seat.Price = 120000
				}
				sum := fnv.New32a()
				fmt.Fprint(sum, id, seat.ID)
				taken := int(sum.Sum32()>>7) % 100
				if full := []int{34, 8, 55, 97, 100}[i]; taken < full {
					seat.Status, seat.owner = "SOLD", "somebody"
					if taken%9 == 0 && i < 4 {
						seat.Status = "HOLD"
					}
				}
				f.seats[id] = append(f.seats[id], seat)
			}
		}
	}
	f.social.begin()
	f.chat.begin()
	f.streams = startStreams(t)
	f.start(t, "127.0.0.1:0")
	t.Cleanup(f.stop)
	return f
}

// start listens; start with the earlier address after stop is a restart.
func (f *fake) start(t testing.TB, address string) {
	t.Helper()
	handler, err := site.New(site.Config{Backend: f, Version: "v0.1.0", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	f.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: f.routes(handler)}}
	f.server.Start()
	f.address = listener.Addr().String()
}

func (f *fake) url() string { return "http://" + f.address }

// stop ends the server without waiting for requests, as a kill would.
func (f *fake) stop() {
	f.sockets(false)
	f.server.Listener.Close()         //nolint:errcheck // Close below closes it again
	f.server.CloseClientConnections() // requests in flight break
	f.server.Close()
	f.chat.work.Wait()
}

func (f *fake) routes(pages http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", pages)
	mux.HandleFunc("GET /api/queue/draw/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		away := f.losing != "" || f.away
		f.mu.Unlock()
		if away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("POST /api/login", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ MemberID string }
		if json.NewDecoder(r.Body).Decode(&in) != nil || in.MemberID == "" {
			problem(w, 400, "No name", "memberId is empty.")
			return
		}
		// By a clock that is behind the browser's.
		answer(w, 200, map[string]any{"token": "member:" + in.MemberID, "expiresAt": time.Now().Add(-time.Hour)})
	})
	public := map[string]func(*http.Request, string) (int, any){
		"GET /api/shows/{id}":   f.getShow,
		"GET /api/artists/{id}": f.artist,
	}
	members := map[string]func(*http.Request, string) (int, any){
		"POST /api/queue/check/{id}":     f.check,
		"POST /api/queue/heartbeat/{id}": f.heartbeat,
		"POST /api/queue/leave/{id}":     func(*http.Request, string) (int, any) { return 204, nil },
		"POST /api/seats/reserve":        f.reserve,
		"GET /api/reservations/{id}":     f.reservation,
		"GET /api/me/tickets":            f.tickets,
		"GET /api/shows/{id}/allowance":  f.allowance,
		"DELETE /api/me/tickets/{id}":    f.cancel,
		"POST /api/payments":             f.pay,
		"GET /api/payments/{id}":         f.payment,
		"GET /api/seats/{id}":            f.plan,
		"POST /api/artists/{id}/refresh": f.refreshArtist,
	}
	handle := func(pattern string, fn func(*http.Request, string) (int, any), open bool) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			member, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer member:")
			if !ok && !open {
				problem(w, 401, "Sign in first", "")
				return
			}
			f.mu.Lock()
			code, body := fn(r, member)
			lost := r.Method == http.MethodPost && r.URL.Path == f.losing
			text, err := json.Marshal(body) // others change its values
			late := f.late[r.URL.Path]
			delete(f.late, r.URL.Path)
			f.mu.Unlock()
			if late != nil {
				<-late
			}
			if err != nil {
				panic(err)
			}
			if lost {
				panic(http.ErrAbortHandler)
			}
			if p, bad := body.(fault); bad {
				problem(w, code, p.title, p.detail)
				return
			}
			if r.Method == http.MethodGet {
				sum := fnv.New64a()
				sum.Write(text) //nolint:errcheck // a hash takes everything
				tag := strconv.Quote(strconv.FormatUint(sum.Sum64(), 36))
				w.Header().Set("ETag", tag)
				if r.Header.Get("If-None-Match") == tag {
					w.WriteHeader(http.StatusNotModified)
					return
				}
			}
			answer(w, code, json.RawMessage(text))
		})
	}
	for pattern, fn := range public {
		handle(pattern, fn, true)
	}
	for pattern, fn := range members {
		handle(pattern, fn, false)
	}
	f.socialRoutes(handle)
	f.inboxRoutes(handle)
	f.chatRoutes(mux, handle)
	f.streamRoutes(mux, handle)
	admin := func(pick func(a, b any) any, count int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+fakeAdmin {
				problem(w, 401, "Admin token needed", "Send the token that the box office has printed.")
				return
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.looks += count
			answer(w, 200, pick(f.ops(f.looks)))
		}
	}
	mux.HandleFunc("GET /api/admin/ops", admin(func(a, _ any) any { return a }, 1))
	mux.HandleFunc("GET /api/admin/invariants", admin(func(_, b any) any { return b }, 0))
	mux.HandleFunc("GET /api/admin/admissions", admin(func(_, _ any) any { return f.admissions }, 0))
	f.letterRoutes(mux)
	f.groupRoutes(mux)
	f.roomRoutes(mux)
	return mux
}

// lose makes posts to a path take effect and loses every answer to it, as when the
// connection breaks, or the process dies after its commit; meanwhile the fake reports
// that it is not healthy. An empty path ends that.
func (f *fake) lose(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.losing = path
}

// take sells a seat to another member.
func (f *fake) take(show, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seatOf(show, id).Status = "SOLD"
}

func (f *fake) seatOf(show, id string) *fakeSeat {
	i := slices.IndexFunc(f.seats[show], func(s *fakeSeat) bool { return s.ID == id })
	return f.seats[show][i]
}

type fault struct{ title, detail string }

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if code != http.StatusNoContent {
		json.NewEncoder(w).Encode(body) //nolint:errcheck // the browser may be gone
	}
}

func problem(w http.ResponseWriter, code int, title, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(map[string]any{"type": "about:blank", "title": title, "detail": detail, "status": code}) //nolint:errcheck // the browser may be gone
}
