package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/routes"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/social"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
)

const (
	// maxWriters is how many writing requests run at once. A commit has up to 64 of
	// them, so this keeps a few commits' worth ready.
	maxWriters = 256
	// maxWait is how long the others wait for their turn.
	maxWait = 10 * time.Second
)

// Operator answers the requests that only an operator may make.
type Operator interface {
	// Report describes the state of the office, by the transport's last report;
	// ReportNow asks the transport.
	Report(ctx context.Context) (any, error)
	ReportNow(ctx context.Context) (any, error)
	// InvariantsNow checks that the books agree; RecentInvariants is the result of the
	// last check.
	InvariantsNow(ctx context.Context) (any, error)
	RecentInvariants(ctx context.Context) (any, error)

	// Dead letters: see package ops for the answers and errors.
	DeadLetters(ctx context.Context, topic string, limit int) (any, error)
	DeadLetter(ctx context.Context, topic, id string) (any, error)
	EditDeadLetter(ctx context.Context, topic, id string, payload []byte) error
	RedriveDeadLetters(ctx context.Context, topic string, s ops.Selection) (any, error)
	DropDeadLetters(ctx context.Context, topic string, s ops.Selection) (any, error)

	// The consumer groups, and a reset of one.
	Groups(ctx context.Context) (any, error)
	ResetGroup(ctx context.Context, topic, group string, r ops.Reset) (any, error)
}

// Artists answers at once from the mirror's copy of an artist, and accepts wishes for
// a refresh.
type Artists interface {
	Get(ctx context.Context, id string) (artist.View, error)
	History(ctx context.Context, id string, q artist.HistoryQuery) (artist.History, error)
	Refresh(ctx context.Context, id string) (artist.Refreshing, error)
}

// Config of an [API]; all of it is required but Lane, Passes, Artists, Social, Inbox, Live,
// Chat, Admissions, Writers, Wait and Logger.
type Config struct {
	Store    *store.Store
	Catalog  *catalog.Catalog
	Booking  *booking.Booking
	Payments *payment.Payments
	Door     *ticket.Door
	Login    *auth.Login
	Room     *queue.Room
	Entries  *token.Entries
	Gate     *frontgate.Gate
	// Lane is nil where no member has a lane in the waiting rooms.
	Lane Lane
	// Passes are the passes of a trusted edge; nil trusts no edge.
	Passes     *token.Passes
	AdminToken string
	Operator   Operator
	// Artists is nil where artists are not mirrored.
	Artists Artists
	// Social is nil where members only book.
	Social *social.Social
	// Inbox is nil where there are no notifications.
	Inbox *inbox.Inbox
	// Live is nil where there are no live streams.
	Live *live.Live
	// Chat is nil where there is no chat.
	Chat *chat.Chat
	// Admissions is nil where admissions have no rows.
	Admissions Admissions
	// Writers is how many writing requests run at once, 256 when zero, and Wait how long
	// others wait for their turn, 10 s when zero.
	Writers int
	Wait    time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) validate() error {
	if c.Store == nil || c.Catalog == nil || c.Booking == nil || c.Payments == nil || c.Door == nil ||
		c.Login == nil || c.Room == nil || c.Entries == nil || c.Gate == nil || c.Operator == nil || c.AdminToken == "" {
		return errors.New("api: Config is not complete; only Lane, Passes, Artists, Social, Inbox, Live, Chat, Admissions, Writers, Wait and Logger may be left out")
	}
	return nil
}

// API serves the routes under /api, and those of the front gate under /vwr/assign
// and /vwr/check. It is safe for concurrent use.
type API struct {
	cfg     Config
	log     *slog.Logger
	writers *semaphore.Weighted
	gate    *frontgate.Handlers
	queue   *queuehttp.Handlers
	mux     *routes.Mux
}

// New makes an API.
func New(cfg Config) (*API, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Writers == 0 {
		cfg.Writers = maxWriters
	}
	if cfg.Wait == 0 {
		cfg.Wait = maxWait
	}
	a := &API{cfg: cfg, log: cfg.Logger, writers: semaphore.NewWeighted(int64(cfg.Writers)), mux: routes.New()}
	var err error
	if a.gate, err = a.newGate(); err != nil {
		return nil, err
	}
	if a.queue, err = a.newQueue(); err != nil {
		return nil, err
	}
	a.routes()
	return a, nil
}

// handler answers a request, or returns an error that describes the problem.
type handler func(w http.ResponseWriter, r *http.Request) error

// memberHandler is a handler for a signed-in member.
type memberHandler func(w http.ResponseWriter, r *http.Request, member string) error

func (a *API) routes() {
	public := func(pattern string, h handler) { a.mux.Handle(pattern, a.handle(h)) }
	member := func(pattern string, h memberHandler) { a.mux.Handle(pattern, a.handle(a.signedIn(h))) }
	writes := func(pattern string, h memberHandler) { a.mux.Handle(pattern, a.handle(a.bounded(a.signedIn(h)))) }
	admin := func(pattern string, h handler) { a.mux.Handle(pattern, a.handle(a.admin(h))) }

	public("POST /api/login", a.bounded(a.login))
	public("GET /api/shows", a.shows)
	public("GET /api/shows/{id}", a.show)
	public("GET /api/artists/{id}", a.artist)
	public("GET /api/artists/{id}/history", a.artistHistory)
	writes("POST /api/artists/{id}/refresh", a.refreshArtist)

	a.queue.Mount(a.mux, "/api/queue", func(next http.Handler) http.Handler {
		return a.handle(a.admin(func(w http.ResponseWriter, r *http.Request) error {
			next.ServeHTTP(w, r)
			return nil
		}))
	})
	public("POST /vwr/assign/{eventId}", a.ofShow(a.gate.Assign))
	public("GET /vwr/check/{eventId}/{requestId}", a.ofShow(a.gate.Check))
	admin("POST /api/admin/vwr/activate/{eventId}", a.ofShow(a.gate.Activate))
	admin("POST /api/admin/vwr/deactivate/{eventId}", a.ofShow(a.gate.Deactivate))
	admin("POST /api/admin/vwr/advance/{eventId}", a.ofShow(a.gate.Advance))
	admin("GET /api/admin/vwr/status/{eventId}", a.ofShow(a.gate.Status))

	member("GET /api/seats/{eventId}", a.seats)
	member("GET /api/shows/{id}/allowance", a.allowance)
	writes("POST /api/seats/reserve", a.reserve)
	member("GET /api/reservations/{id}", a.reservation)
	writes("DELETE /api/reservations/{id}", a.cancelReservation)
	member("GET /api/me/tickets", a.tickets)
	writes("DELETE /api/me/tickets/{id}", a.cancelTicket)

	writes("POST /api/payments", a.pay)
	member("GET /api/payments/{id}", a.payment)
	writes("POST /api/payments/{id}/refund", a.refund)
	writes("POST /api/transfers", a.transfer)
	writes("POST /api/memberships", a.membership)
	a.ticketRoutes(public, member, writes, admin)

	if a.cfg.Inbox != nil {
		a.inboxRoutes(member, writes)
	}
	if a.cfg.Live != nil {
		a.liveRoutes(public, member)
	}

	if a.cfg.Social != nil {
		a.socialRoutes(public, member, writes, admin)
	}
	if a.cfg.Chat != nil {
		a.chatRoutes(public, member, writes)
	}

	admin("GET /api/admin/ops", a.ops)
	admin("GET /api/admin/invariants", a.invariants)
	if a.cfg.Admissions != nil {
		admin("GET /api/admin/admissions", a.admissions)
	}
	admin("GET /api/admin/dead-letters/{topic}", a.deadLetters)
	admin("GET /api/admin/dead-letters/{topic}/{id}", a.deadLetter)
	admin("PUT /api/admin/dead-letters/{topic}/{id}", a.editDeadLetter)
	admin("POST /api/admin/dead-letters/{topic}/redrive", a.redriveDeadLetters)
	admin("POST /api/admin/dead-letters/{topic}/drop", a.dropDeadLetters)
	admin("GET /api/admin/groups", a.groups)
	admin("POST /api/admin/groups/{topic}/{group}/reset", a.resetGroup)
}

// Routes are the patterns of all routes.
func (a *API) Routes() []string { return a.mux.Patterns() }

// ServeHTTP serves the API's routes; an unknown route is answered with a problem
// document too.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, pattern := a.mux.Handler(r)
	if pattern == "" {
		a.unknown(w, r, h)
		return
	}
	limitBody(a.mux).ServeHTTP(w, r)
}

// unknown lets the mux decide whether the path or only the method is wrong.
func (a *API) unknown(w http.ResponseWriter, r *http.Request, h http.Handler) {
	said := &statusOnly{header: http.Header{}}
	h.ServeHTTP(said, r)
	if said.status == http.StatusMethodNotAllowed {
		newProblem(said.status, "method-not-allowed", "Not with this method", "%s is not for %s; allowed: %s", r.Method, r.URL.Path, said.header.Get("Allow")).
			withHeader("Allow", said.header.Get("Allow")).write(w)
		return
	}
	newProblem(http.StatusNotFound, "not-found", "No such route", "there is nothing at %s", r.URL.Path).write(w)
}

// statusOnly keeps the status and headers of the mux and drops its text.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }

// handle turns errors into answers.
func (a *API) handle(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil || r.Context().Err() != nil {
			return // answered, or the client is gone
		}
		p := problemOf(err, a.cfg.Store.Classify)
		if p.status >= http.StatusInternalServerError && p.name != "busy" {
			a.log.ErrorContext(r.Context(), "request failed", "method", r.Method, "route", r.Pattern, "status", p.status, "error", err)
		}
		p.write(w)
	})
}

// signedIn identifies the member by the sign-in.
func (a *API) signedIn(h memberHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		member, err := a.cfg.Login.Member(r)
		if err != nil {
			return signIn(err)
		}
		return h(w, r, member)
	}
}

// admin lets only the admin token pass.
func (a *API) admin(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Header.Get("Authorization") == "" {
			return newProblem(http.StatusUnauthorized, "admin-token-required", "Operators only",
				"send the admin token in the header Authorization: Bearer").withHeader("WWW-Authenticate", `Bearer realm="boxoffice admin"`)
		}
		if !auth.IsAdmin(r, a.cfg.AdminToken) {
			return newProblem(http.StatusForbidden, "admin-token-wrong", "Operators only", "this is not the admin token")
		}
		return h(w, r)
	}
}

// bounded lets a number of writing requests work at once; others wait in their
// order.
func (a *API) bounded(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), a.cfg.Wait)
		err := a.writers.Acquire(ctx, 1)
		cancel()
		if err != nil {
			return newProblem(http.StatusServiceUnavailable, "busy", "Too many at once",
				"too many requests are waiting; repeat it, a payment with the same Idempotency-Key").withHeader("Retry-After", "1")
		}
		defer a.writers.Release(1)
		return h(w, r)
	}
}

// ops reports the state of everything; with ?fresh=true it asks the transport, and
// waits for its answer.
func (a *API) ops(w http.ResponseWriter, r *http.Request) error {
	fresh, err := flag(r, "fresh")
	if err != nil {
		return err
	}
	look := a.cfg.Operator.Report
	if fresh {
		look = a.cfg.Operator.ReportNow
	}
	report, err := look(r.Context())
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, report)
	return nil
}

// invariants audits the books now: a program that waits until everything is at rest
// must not read an outdated result. With ?recent=true it returns the result of the
// last audit.
func (a *API) invariants(w http.ResponseWriter, r *http.Request) error {
	recent, err := flag(r, "recent")
	if err != nil {
		return err
	}
	check := a.cfg.Operator.InvariantsNow
	if recent {
		check = a.cfg.Operator.RecentInvariants
	}
	checks, err := check(r.Context())
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, checks)
	return nil
}
