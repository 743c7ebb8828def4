package api

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/routes"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/social"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/token"
)

// Operator answers the requests that only an operator may make.
type Operator interface {
	Reports
	DeadLetters
	Groups
}

// Config of an [API]; all of it is required but Lane, PassKeys, Artists, Social, Inbox, Live,
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
	// PassKeys are the keys of a trusted edge; nil trusts no edge.
	PassKeys   *token.Ring
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
		return errors.New("api: Config is not complete; only Lane, PassKeys, Artists, Social, Inbox, Live, Chat, Admissions, Writers, Wait and Logger may be left out")
	}
	return nil
}

// API serves the routes under /api, and those of the front gate under /vwr/assign
// and /vwr/check. It is safe for concurrent use.
type API struct {
	mux     *routes.Mux
	waiting *waitingRoutes
}

// New makes an API of its parts. Each has the routes of one matter, and no more fields
// than their handlers use.
func New(cfg Config) (*API, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	g := newGuard(cfg)
	waiting, err := newWaitingRoutes(cfg, g)
	if err != nil {
		return nil, err
	}
	loginRoutes{cfg.Store, cfg.Login}.mount(g)
	showRoutes{cfg.Catalog}.mount(g)
	artistRoutes{cfg.Artists}.mount(g)
	waiting.mount(g)
	bookingRoutes{cfg.Booking, cfg.Catalog, waiting.queue}.mount(g)
	paymentRoutes{cfg.Payments}.mount(g)
	ticketRoutes{cfg.Door, cfg.Catalog}.mount(g)
	if cfg.Inbox != nil {
		inboxRoutes{cfg.Inbox}.mount(g)
	}
	if cfg.Live != nil {
		streamRoutes{cfg.Live, cfg.Login}.mount(g)
	}
	if cfg.Social != nil {
		socialRoutes{cfg.Social, g}.mount(g)
	}
	if cfg.Chat != nil {
		chatRoutes{cfg.Chat, cfg.Live, g}.mount(g)
	}
	reportRoutes{cfg.Operator}.mount(g)
	if cfg.Admissions != nil {
		admissionRoutes{cfg.Admissions}.mount(g)
	}
	deadLetterRoutes{cfg.Operator}.mount(g)
	groupRoutes{cfg.Operator}.mount(g)
	return &API{mux: g.mux, waiting: waiting}, nil
}

// Edge stands before the pages of an event's sale: while the front gate is on, it
// sends visitors to the gate, unless they have passed it or are inside already.
func (a *API) Edge(next http.Handler) http.Handler { return a.waiting.edge(next) }

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
