package millrace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/driver"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/outbox"
)

// envBus is the environment variable that names the transport when Config.Bus is empty.
const envBus = "MILLRACE_BUS_URL"

// Database holds an application's rows, its outbox and its idempotency keys. Packages postgres,
// mysql and sqlite create one. Tx is the type of its transactions.
type Database[Tx any] = driver.Database[Tx]

// Config configures an App. Service is required.
type Config struct {
	// Service is the name of the application; it becomes the source of its events.
	Service string
	// Bus is the URL of the transport. The default is $MILLRACE_BUS_URL; if that is empty too,
	// the database's own log is the transport.
	Bus string
	// Logger is used by the App and its parts; slog.Default() when nil.
	Logger *slog.Logger
	// TracerProvider creates spans for emitting, publishing and handling; none when nil.
	TracerProvider trace.TracerProvider

	// Relay, Runner and Keys configure the parts; their zero values are the defaults.
	Relay  outbox.RelayConfig
	Runner bus.RunnerConfig
	Keys   idempotency.PrunerConfig
}

// App emits an application's events and handles the events of its groups. Create it with New,
// register handlers, then call Run. An App is safe for concurrent use once Run was called.
type App[Tx any] struct {
	cfg     Config
	stores  *driver.Stores[Tx]
	schemes []bus.Scheme
	url     string
	box     *outbox.Outbox

	mu        sync.Mutex
	consumers []*consumer[Tx]
	guards    map[string]*idempotency.Guard[Tx]
	leases    map[string]*idempotency.Leases
	problems  []error // errors of registrations
	state     state
}

type state int

const (
	fresh state = iota
	running
	ended
)

// errRan is returned by a second Run of an App.
var errRan = errors.New("millrace: Run was called before; an App runs once")

// New creates an App on a database. Config.Bus can name one of the given transports or the
// database's own log. New connects to no server.
func New[Tx any](db Database[Tx], cfg Config, transports ...bus.Scheme) (*App[Tx], error) {
	if db == nil {
		return nil, errors.New("millrace: New: the database is nil; give one of package postgres, mysql or sqlite")
	}
	if cfg.Service == "" {
		return nil, errors.New(`millrace: Config.Service is empty; name the application, such as "orders"`)
	}
	stores, err := db.Stores()
	if err != nil {
		return nil, fmt.Errorf("millrace: %w", err)
	}
	cfg.fill()
	a := &App[Tx]{
		cfg: cfg, stores: stores, guards: map[string]*idempotency.Guard[Tx]{}, leases: map[string]*idempotency.Leases{},
		// A given transport takes precedence over the database's own of the same name.
		schemes: append([]bus.Scheme{stores.Scheme}, transports...),
		url:     cfg.Bus,
	}
	if a.url == "" {
		a.url = os.Getenv(envBus)
	}
	if a.url == "" {
		a.url = stores.URL
	}
	if a.url == "" {
		return nil, errors.Join(fmt.Errorf("millrace: Config.Bus is empty, and so is $%s; a database that was opened elsewhere does not tell its URL, so name the transport, such as %s://…",
			envBus, stores.Scheme.Names()[0]), stores.Close())
	}
	a.box, err = outbox.New(stores.Outbox, outbox.Config{Logger: cfg.Logger, TracerProvider: cfg.TracerProvider})
	if err != nil {
		return nil, errors.Join(err, stores.Close())
	}
	return a, nil
}

// fill passes the logger and the tracer provider to the parts that have none of their own.
func (c *Config) fill() {
	for _, logger := range []**slog.Logger{&c.Relay.Logger, &c.Runner.Logger, &c.Keys.Logger} {
		if *logger == nil {
			*logger = c.Logger
		}
	}
	if c.Relay.TracerProvider == nil {
		c.Relay.TracerProvider = c.TracerProvider
	}
	if c.Runner.TracerProvider == nil {
		c.Runner.TracerProvider = c.TracerProvider
	}
}

// Do runs fn in a transaction and commits it when fn returns nil. FN CAN RUN MORE THAN ONCE: if
// the database ends the transaction because of a conflict, Do runs fn again; see sqltx.Do.
func (a *App[Tx]) Do(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
	return a.stores.Do(ctx, fn)
}

// Emit appends events in tx. They are published when tx commits, and never if it rolls back. If
// one event is invalid, Emit appends none of them. Lock the rows of the events' keys before you
// call Emit, so that the order of a key's events is the order of the commits.
//
// After a transaction of Do or of a handler commits, the relays are woken. After any other
// transaction, call Wake; otherwise the relays find the events within Config.Relay.Interval,
// 1 s.
func (a *App[Tx]) Emit(ctx context.Context, tx Tx, events ...Event) error {
	all := make([]event.Event, len(events))
	topics := make([]string, len(events))
	mixed := false
	for i, e := range events {
		if e == nil {
			return fmt.Errorf("millrace: emit: event %d is nil", i)
		}
		out, spec, err := envelope(a.cfg.Service, e)
		if err != nil {
			return fmt.Errorf("millrace: emit: %w", err)
		}
		all[i], topics[i] = out, spec.Topic
		if mixed = mixed || topics[i] != topics[0]; mixed { // the events before it are appended by another call
			if _, err := (event.Structured{}).Encode(out); err != nil {
				return fmt.Errorf("millrace: emit: event %d (%s): %w", i, spec.Type, err)
			}
		}
	}
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && topics[to] == topics[from] {
			to++
		}
		if err := a.box.AppendTo(ctx, a.stores.Execer(tx), topics[from], all[from:to]...); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// Wake tells the relays of all processes that events were committed in a transaction that Do
// did not begin.
func (a *App[Tx]) Wake() { a.box.Wake() }

// Migrate creates or updates the tables of the outbox, the keys and the leases. Several
// processes may call Migrate at once. The transport creates its own tables at its first use.
func (a *App[Tx]) Migrate(ctx context.Context) error { return a.stores.Migrate(ctx) }

// Ready returns an error if the application cannot work now: the database does not answer, or
// Run is not running. An absent broker is not an error: events wait in the outbox.
func (a *App[Tx]) Ready(ctx context.Context) error {
	a.mu.Lock()
	now := a.state
	a.mu.Unlock()
	if now != running {
		return errors.New("millrace: not ready: Run is not running")
	}
	if err := a.stores.Ping(ctx); err != nil {
		return fmt.Errorf("millrace: not ready: %w", err)
	}
	return nil
}

// Close closes the pools that the App opened. Call it after Run has returned.
func (a *App[Tx]) Close() error { return a.stores.Close() }
