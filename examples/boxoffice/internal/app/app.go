package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
)

// Options of an [App]. The zero value works.
type Options struct {
	// Version is shown on the site.
	Version string
	// Out is where the address is printed; nothing is printed when nil.
	Out io.Writer
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
	// Gateway configures the simulated gateway; its Path is set by the App.
	Gateway gateway.Config
	// GatewayTimeout bounds each call to the gateway; 2 s when zero.
	GatewayTimeout time.Duration
	// Prefetch configures the prefetch of artists; the App sets its holder and its
	// measure of waiting work.
	Prefetch artist.PrefetchConfig
	// TracerProvider makes spans of requests, events and deliveries, in place of the
	// one that BOXOFFICE_TRACES_URL asks for. It is not shut down.
	TracerProvider trace.TracerProvider
	// WrapArtists wraps the publisher of the requests for artists; nil wraps nothing.
	WrapArtists func(message.Publisher) message.Publisher
	// WrapRelay wraps the publisher of the relay; nil wraps nothing.
	WrapRelay func(message.Publisher) (message.Publisher, error)
	// Settle is how long a waiting room in memory collects the members that were in line
	// before a restart; 5 s when zero: its lines are short, and clients near the front
	// poll every second.
	Settle time.Duration
	// Drain bounds each step of the shutdown; 15 s when zero.
	Drain time.Duration
}

// App is one process of the box office. It is made, and run once.
type App struct {
	cfg   config.Config
	opt   Options
	ready chan struct{}

	// Set before ready is closed.
	url    string
	office *office
	server *server
}

// New makes an App. It does no I/O.
func New(cfg config.Config, opt Options) (*App, error) {
	if len(cfg.Roles) == 0 {
		return nil, errors.New("app: no roles; use config.Parse to make the configuration")
	}
	opt.Logger = cmp.Or(opt.Logger, slog.Default())
	if opt.Out == nil {
		opt.Out = io.Discard
	}
	opt.Drain = cmp.Or(opt.Drain, 15*time.Second)
	opt.Settle = cmp.Or(opt.Settle, 5*time.Second)
	opt.GatewayTimeout = cmp.Or(opt.GatewayTimeout, 2*time.Second)
	return &App{cfg: cfg, opt: opt, ready: make(chan struct{})}, nil
}

// Ready is closed once the App serves.
func (a *App) Ready() <-chan struct{} { return a.ready }

// URL is where it serves, once it is ready.
func (a *App) URL() string { return a.url }

// Routes are the patterns of all routes that it serves, once it is ready.
func (a *App) Routes() []string { return slices.Clone(a.server.routes) }

// AdminToken opens the operator's routes, once it is ready.
func (a *App) AdminToken() string { return a.cfg.AdminToken }

// Run opens everything, serves until ctx ends, and closes everything. It
// returns nil after an orderly end.
func (a *App) Run(ctx context.Context) (err error) {
	if a.cfg, err = a.cfg.Fill(); err != nil {
		return err
	}
	ln, err := listen(a.cfg.Addr)
	if err != nil {
		return err
	}
	defer ln.Close() //nolint:errcheck // the server closes it first
	var opened closers
	defer func() { err = errors.Join(err, opened.close()) }()
	b, err := open(ctx, a.cfg, a.opt, &opened)
	if err != nil {
		return err
	}
	run := newStages(a.opt.Drain)
	if err := a.begin(ctx, b, run, ln); err != nil {
		stopped := run.stop()
		if ctx.Err() != nil {
			return stopped // it was to end before it began
		}
		return errors.Join(err, stopped)
	}
	a.announce(ln)
	close(a.ready)

	select {
	case <-ctx.Done():
		a.server.leave(a.cfg.Leave, run)
		a.opt.Logger.Info("ending: finishing what is under way")
	case <-run.failed():
	}
	return run.stop()
}

// begin makes the parts and starts them.
func (a *App) begin(ctx context.Context, b *base, run *stages, ln net.Listener) (err error) {
	if a.office, err = newOffice(b, run); err != nil {
		return err
	}
	if err := a.office.declare(ctx); err != nil {
		return err
	}
	if a.server, err = newServer(a.office); err != nil {
		return err
	}
	a.office.start(run, a.server, ln)
	return nil
}

func listen(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("BOXOFFICE_ADDR (--addr) %s: the port is in use; stop the program that has it, or choose another port", addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("BOXOFFICE_ADDR (--addr) %s: this user may not use the port; choose one above 1023", addr)
	case err != nil:
		return nil, fmt.Errorf("BOXOFFICE_ADDR (--addr) %s: %w", addr, err)
	}
	return ln, nil
}

// announce prints the address and the first steps for a person.
func (a *App) announce(ln net.Listener) {
	a.url = "http://" + ln.Addr().String()
	text := fmt.Sprintf("Box office: %s\n", a.url)
	if a.cfg.Has(config.RoleAPI) {
		text += fmt.Sprintf("Operator:   %s/ops\n", a.url)
		if a.cfg.AdminTokenMade {
			text += fmt.Sprintf("Admin token: %s\n", a.cfg.AdminToken)
		}
	}
	if host, _, err := net.SplitHostPort(ln.Addr().String()); err == nil && !net.ParseIP(host).IsLoopback() {
		text += "This address is open to the network, and signing in needs no password.\n"
	}
	_, _ = io.WriteString(a.opt.Out, text) // a closed stdout is no reason not to serve
}

// closers closes opened resources in reverse order.
type closers struct{ fns []func() error }

func (c *closers) add(fn func() error) { c.fns = append(c.fns, fn) }

func (c *closers) close() error {
	var errs []error
	for i := len(c.fns) - 1; i >= 0; i-- {
		errs = append(errs, c.fns[i]())
	}
	return errors.Join(errs...)
}
