package app

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/door"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/routes"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/traces"
)

// server answers HTTP: the probes and the metrics of each process, and in the role api
// the API and the site.
type server struct {
	log      *slog.Logger
	requests *ops.Requests
	unready  func(context.Context) string // the reason, or ""
	routes   []string
	http     *http.Server
	// leaving is set when the process was asked to end and closes connections.
	leaving atomic.Bool
}

func newServer(o *office) (*server, error) {
	s := &server{log: o.log, requests: ops.NewRequests(), unready: o.unready}
	mux := routes.New()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.readyz)
	all, err := o.collectors()
	if err != nil {
		return nil, err
	}
	metrics, err := metricsHandler(append(all, s.requests), o.log)
	if err != nil {
		return nil, err
	}
	mux.Handle("GET /metrics", metrics)
	s.routes = mux.Patterns()
	if o.cfg.Has(config.RoleAPI) {
		answers, pages, err := newWeb(o)
		if err != nil {
			return nil, err
		}
		for _, below := range []string{"/api/", "/vwr/assign/", "/vwr/check/"} {
			mux.Handle(below, answers)
		}
		mux.Handle("/", pages)
		s.routes = slices.Concat(s.routes, answers.Routes(), pages.Routes())
	}
	before, err := door.New(door.Config{Rate: o.cfg.Door.Rate, Proxies: o.cfg.Door.Proxies})
	if err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler:           traces.HTTP(o.tracing, quiet, millrace.Wrap(s.observe(s.turnAway(before.Before(mux))))),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		// The server's own complaints (a broken handshake, a malformed request) are
		// below the levels that alert an operator.
		ErrorLog: slog.NewLogLogger(o.log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// quiet are the requests without a span: those of probes and scrapers, and those that
// go on for hours.
func quiet(r *http.Request) bool {
	switch p := r.URL.Path; p {
	case "/healthz", "/readyz", "/metrics", live.Path:
		return true
	default:
		return strings.HasPrefix(p, "/static/") || strings.HasPrefix(p, "/api/rooms/") && strings.HasSuffix(p, "/ws")
	}
}

// leave serves on for a while in which /readyz reports the process as not ready, so
// that load balancers stop sending requests before the port is closed: closing a port
// cuts a connection that is accepted and not yet served. leave ends early if a part
// ends.
func (s *server) leave(lasts time.Duration, run *stages) {
	s.leaving.Store(true)
	if lasts == 0 {
		return
	}
	s.log.Info("ending: /readyz answers 503 now, and requests are still served", "for", lasts)
	over := time.NewTimer(lasts)
	defer over.Stop()
	select {
	case <-over.C:
	case <-run.failed():
	}
}

// turnAway closes each connection after its request while the process leaves.
func (s *server) turnAway(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// readyz reports whether this process can do its work.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) {
	why := "the process is about to end"
	if !s.leaving.Load() {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		why = s.unready(ctx)
	}
	if why != "" {
		plain(w, http.StatusServiceUnavailable, why)
		return
	}
	plain(w, http.StatusOK, "ready")
}

// unready is the reason why the office can't do its work, or "".
func (o *office) unready(ctx context.Context) string {
	if o.store.Ping(ctx) != nil {
		return "the database does not answer"
	}
	if o.cfg.Has(config.RoleWorker) {
		select {
		case <-o.consumers.runner.Running():
		default:
			return "the consumers have not started"
		}
	}
	return ""
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // the client may be gone
}
