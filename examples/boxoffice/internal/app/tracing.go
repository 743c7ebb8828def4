package app

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/traces"
)

// openTraces makes the tracer provider. It is opened first and closed last, so that
// the spans of the shutdown are sent too.
func (a *App) openTraces(opened *closers) error {
	if a.tracing = a.opt.TracerProvider; a.tracing != nil || a.cfg.TracesURL == "" {
		return nil
	}
	made, err := traces.Open(a.cfg.TracesURL, traces.Config{
		Service: a.service(), Version: a.opt.Version, Instance: a.holder, Logger: a.log,
	})
	if err != nil {
		return fmt.Errorf("BOXOFFICE_TRACES_URL (--traces-url): %w", err)
	}
	a.tracing = made.Provider()
	opened.add(func() error { made.Close(); return nil })
	return nil
}

// service is the name of this process in traces: with its roles, unless it has all.
func (a *App) service() string {
	const name = "boxoffice"
	for _, role := range []string{config.RoleAPI, config.RoleRelay, config.RoleWorker, config.RoleAdmitter} {
		if !a.cfg.Has(role) {
			return name + "-" + strings.Join(a.cfg.Roles, "-")
		}
	}
	return name
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

// traced publishes messages that bypass the outbox in the trace of their caller.
func (a *App) traced(next message.Publisher) (message.Publisher, error) {
	if a.tracing == nil {
		return next, nil
	}
	return bus.NewTracedPublisher(next, bus.TraceConfig{TracerProvider: a.tracing, System: a.bus.System()})
}
