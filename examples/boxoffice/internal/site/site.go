package site

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/routes"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/site/locales"
)

// Backend has the shows, for pages that are rendered on the server: a [catalog.Catalog]. Its
// methods are called once per page view and should answer within a few milliseconds.
type Backend interface {
	// Shows lists all shows in the order in which the site presents them.
	Shows(ctx context.Context) ([]catalog.Show, error)
	// Show returns one show, or an error that wraps [catalog.ErrNoShow], which the site
	// answers with a 404 page.
	Show(ctx context.Context, id string) (catalog.Show, error)
}

// Config has the dependencies and settings of the site.
type Config struct {
	// Backend has the data of pages that are rendered on the server. Required.
	Backend Backend
	// Edge is the gate before the pages of the seats; nil lets all visitors pass. Its 503
	// is shown as a page.
	Edge func(http.Handler) http.Handler
	// Version is shown in the footer; empty shows none.
	Version string
	// Logger gets one line for each page that the backend failed to serve.
	// nil: slog.Default().
	Logger *slog.Logger
}

func (c Config) validate() error {
	if c.Backend == nil {
		return errors.New("site: Config.Backend is nil: give the site something that lists the shows")
	}
	return nil
}

// site holds the shared state of all handlers; nothing in it changes after New.
type site struct {
	backend Backend
	version string
	log     *slog.Logger
	assets  *assets
	pages   pages
}

// Site is the handler of the whole site.
type Site struct {
	http.Handler
	mux *routes.Mux
}

// Routes are the patterns of all pages; the last one, "GET /", is the 404 page.
func (s *Site) Routes() []string { return s.mux.Patterns() }

// New returns the handler of the whole site: its pages, /static/, /posters/, /sw.js and
// /manifest.webmanifest. Mount it at "/"; it answers unknown paths with a 404 page. It
// reads only files embedded in the binary.
func New(cfg Config) (*Site, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	files, err := loadAssets(locales.All())
	if err != nil {
		return nil, err
	}
	templates, err := loadPages()
	if err != nil {
		return nil, err
	}
	line, gate, err := waitingPages(files.base() + "/font/fraunces.woff2")
	if err != nil {
		return nil, err
	}
	s := &site{
		backend: cfg.Backend,
		version: cfg.Version,
		log:     cfg.Logger,
		assets:  files,
		pages:   templates,
	}
	s.log = cmp.Or(s.log, slog.Default())

	mux := routes.New()
	mux.HandleFunc("GET /{$}", s.listed("home", "nav.shows", "()"))
	mux.HandleFunc("GET /shows/{id}", s.show)
	mux.HandleFunc("GET /queue", s.room)
	mux.Handle("GET /queue/{eventId}", line)
	mux.Handle("GET /vwr/{eventId}", gate)
	var seats http.Handler = http.HandlerFunc(s.seats)
	if cfg.Edge != nil {
		seats = s.behind(cfg.Edge, seats)
	}
	mux.Handle("GET /events/{eventId}", seats)
	mux.HandleFunc("GET /checkout/{id}", s.checkout)
	mux.HandleFunc("GET /tickets", s.plain("tickets", "nav.tickets"))
	mux.HandleFunc("GET /transfers", s.plain("transfers", "transfers.title"))
	mux.HandleFunc("GET /memberships", s.plain("memberships", "memberships.title"))
	// The only page that may use the camera. It has the shows, so that it works from its
	// first moment.
	mux.HandleFunc("GET /scan", s.listed("scan", "scan.title", "(self)"))
	mux.HandleFunc("GET /artists", s.findArtist)
	mux.HandleFunc("GET /artists/{id}", s.artist)
	mux.HandleFunc("GET /login", s.plain("login", "signin.submit"))
	mux.HandleFunc("GET /ops", s.plain("ops", "ops.title"))
	mux.HandleFunc("GET /offline", s.plain("offline", "offline.page.title"))
	mux.HandleFunc("GET /static/{hash}/{path...}", s.assets.serve)
	mux.HandleFunc("GET /posters/{id}", s.poster)
	mux.HandleFunc("GET /sw.js", s.assets.serveWorker)
	mux.HandleFunc("GET /manifest.webmanifest", s.manifest)
	mux.HandleFunc("GET /", s.notFound)
	return &Site{Handler: secure(mux), mux: mux}, nil
}
