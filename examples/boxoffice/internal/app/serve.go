package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/door"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/routes"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/site"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/traces"
	"github.com/millrace-go/millrace/idempotency"
)

// startParts starts the parts of the roles, and the figures that every process serves
// to Prometheus. They end in reverse: the executor and the singletons, the consumers,
// the relay.
func (a *App) startParts(run *stages) {
	run.start("figures", a.ops.Run)
	a.startHeldSeats(run)
	a.startArtists(run)
	run.start("copy of the shows", a.catalog.Run)
	a.startNotices(run)
	a.startWaiting(run)
	a.startLive(run)
	a.startChat(run)
	if a.cfg.Has(config.RoleRelay) {
		run.start("published", a.published.Run)
		run.start("relay", a.relay.Run)
	}
	if a.cfg.Has(config.RoleWorker) {
		run.start("consumers", a.runner.Run)
		run.start("pruner", a.prune)
		run.start("hold timeout", a.booking.Run)
		run.start("payments", a.executor.Run)
		a.startSocial(run)
		a.startInbox(run)
		a.startArtistSingletons(run)
	}
}

// prune deletes old idempotency keys.
func (a *App) prune(ctx context.Context) error {
	p, err := idempotency.NewPruner(a.keys, idempotency.PrunerConfig{Logger: a.log})
	if err != nil {
		return err
	}
	return p.Run(ctx)
}

// serve starts the HTTP server. Only the drain of the streams and the admission
// start after it.
func (a *App) serve(run *stages, ln net.Listener) error {
	mux := routes.New()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", a.readyz)
	metrics, err := a.metrics()
	if err != nil {
		return err
	}
	mux.Handle("GET /metrics", metrics)
	a.routes = mux.Patterns()
	if a.cfg.Has(config.RoleAPI) {
		answers, pages, err := a.web()
		if err != nil {
			return err
		}
		for _, below := range []string{"/api/", "/vwr/assign/", "/vwr/check/"} {
			mux.Handle(below, answers)
		}
		mux.Handle("/", pages)
		a.routes = slices.Concat(a.routes, answers.Routes(), pages.Routes())
	}
	before, err := door.New(door.Config{Rate: a.cfg.Door.Rate, Proxies: a.cfg.Door.Proxies})
	if err != nil {
		return err
	}
	run.serveHTTP("http", &http.Server{
		Handler:           traces.HTTP(a.tracing, quiet, millrace.Wrap(a.observe(a.turnAway(before.Before(mux))))),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slogErrors(a.log),
	}, ln)
	a.startDrain(run)
	return nil
}

// web makes the API and the site.
func (a *App) web() (answers *api.API, pages *site.Site, err error) {
	login, err := auth.NewLogin(a.cfg.Secret)
	if err != nil {
		return nil, nil, err
	}
	cfg := api.Config{
		Store: a.store, Catalog: a.catalog, Booking: a.booking, Payments: a.payments, Door: a.door, Login: login,
		Room: a.waiting.room, Entries: a.waiting.entries, Gate: a.waiting.gate, Passes: a.waiting.passes, Lane: a.lane(), AdminToken: a.cfg.AdminToken, Operator: a.ops, Logger: a.log,
		Social: a.social, Inbox: a.inbox, Live: a.live, Chat: a.chat, Admissions: admitted{a},
	}
	if a.artists != nil {
		cfg.Artists = a.artists.mirror
	}
	if answers, err = api.New(cfg); err != nil {
		return nil, nil, err
	}
	pages, err = site.New(site.Config{Backend: shows{a.catalog}, Edge: answers.Edge, Version: a.opt.Version, Logger: a.log})
	return answers, pages, err
}

// shows are the shows that the site renders on the server.
type shows struct{ catalog *catalog.Catalog }

func (s shows) Shows(ctx context.Context) ([]site.Show, error) {
	all, err := s.catalog.Shows(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]site.Show, len(all))
	for i, show := range all {
		out[i] = siteShow(show)
	}
	return out, nil
}

func (s shows) Show(ctx context.Context, id string) (site.Show, error) {
	show, err := s.catalog.Show(ctx, id)
	if errors.Is(err, catalog.ErrNoShow) {
		return site.Show{}, site.ErrNotFound
	}
	return siteShow(show), err
}

func siteShow(s catalog.Show) site.Show {
	out := site.Show{
		ID: s.ID, Title: s.Title,
		Seats:    site.Seats{Total: s.Seats.Total, Available: s.Seats.Available, Held: s.Seats.Held, Sold: s.Seats.Sold},
		StartsAt: s.StartsAt, DoorsAt: s.DoorsAt, Venue: site.Venue(s.Venue), Currency: s.Currency,
	}
	for _, p := range s.Prices {
		out.Prices = append(out.Prices, site.Price(p))
	}
	for _, p := range s.Performers {
		out.Performers = append(out.Performers, site.Performer(p))
	}
	return out
}

// leave serves on for a while in which /readyz reports the process as not ready, so
// that load balancers stop sending requests before the port is closed: closing a port
// cuts a connection that is accepted and not yet served. leave ends early if a part
// ends.
func (a *App) leave(run *stages) {
	a.leaving.Store(true)
	if a.cfg.Leave == 0 {
		return
	}
	a.log.Info("ending: /readyz answers 503 now, and requests are still served", "for", a.cfg.Leave)
	over := time.NewTimer(a.cfg.Leave)
	defer over.Stop()
	select {
	case <-over.C:
	case <-run.failed():
	}
}

// turnAway closes each connection after its request while the process leaves.
func (a *App) turnAway(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// readyz reports whether this process can do its work.
func (a *App) readyz(w http.ResponseWriter, r *http.Request) {
	if a.leaving.Load() {
		plain(w, http.StatusServiceUnavailable, "the process is about to end")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if err := a.store.Ping(ctx); err != nil {
		plain(w, http.StatusServiceUnavailable, "the database does not answer")
		return
	}
	if a.cfg.Has(config.RoleWorker) {
		select {
		case <-a.runner.Running():
		default:
			plain(w, http.StatusServiceUnavailable, "the consumers have not started")
			return
		}
	}
	plain(w, http.StatusOK, "ready")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // the client may be gone
}
