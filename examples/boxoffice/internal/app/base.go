package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/traces"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/redisclient"
)

// base holds the settings, the name of the process, and the servers that all parts use. A
// part is made from it, and keeps only the fields that it needs.
type base struct {
	cfg    config.Config
	opt    Options
	log    *slog.Logger
	opened *closers

	holder   string               // the name under which this process holds leases
	sole     bool                 // it has a data folder of its own
	tracing  trace.TracerProvider // nil when no spans are made
	commands *commands

	store  *store.Store
	events outboxStore
	outbox *outbox.Outbox
	bus    *bus.Bus
}

// outboxStore is the part of an outbox's store that the app uses.
type outboxStore interface {
	driver.Store
	driver.Inspector
	Migrate(ctx context.Context) error
}

// redisTimeout bounds a call; callers have shorter deadlines of their own.
const redisTimeout = time.Second

// open opens the database with its outbox, and the transport.
func open(ctx context.Context, cfg config.Config, opt Options, opened *closers) (*base, error) {
	b := &base{cfg: cfg, opt: opt, log: opt.Logger, opened: opened, commands: newCommands()}
	if err := b.identify(); err != nil {
		return nil, err
	}
	if err := b.openTraces(); err != nil {
		return nil, err
	}
	if err := b.openOutbox(ctx); err != nil {
		return nil, err
	}
	var err error
	if b.bus, err = bus.Open(ctx, cfg.BusURL, b.schemes()...); err != nil {
		return nil, fmt.Errorf("BOXOFFICE_BUS_URL (--bus-url): %w", err)
	}
	opened.add(b.bus.Close)
	return b, nil
}

// identify chooses the name under which this process holds leases. A process with a
// data folder of its own keeps its name over restarts, so that the leases of a killed
// process need not expire first.
func (b *base) identify() error {
	if b.cfg.Embedded {
		lock, err := store.LockFolder(b.cfg.DataDir)
		if err != nil {
			return fmt.Errorf("BOXOFFICE_DATA_DIR (--data-dir) %s: %w; stop that process or use another folder", b.cfg.DataDir, err)
		}
		b.opened.add(lock.Release)
		b.holder, b.sole = "boxoffice", true
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // the random part tells processes apart
	}
	b.holder = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), uuid.NewString()[:8])
	return nil
}

// openTraces makes the tracer provider. It is opened first and closed last, so that
// the spans of the shutdown are sent too.
func (b *base) openTraces() error {
	if b.tracing = b.opt.TracerProvider; b.tracing != nil || b.cfg.TracesURL == "" {
		return nil
	}
	made, err := traces.Open(b.cfg.TracesURL, traces.Config{
		Service: b.service(), Version: b.opt.Version, Instance: b.holder, Logger: b.log,
	})
	if err != nil {
		return fmt.Errorf("BOXOFFICE_TRACES_URL (--traces-url): %w", err)
	}
	b.tracing = made.Provider()
	b.opened.add(func() error { made.Close(); return nil })
	return nil
}

// service is the name of this process in traces: with its roles, unless it has all.
func (b *base) service() string {
	const name = "boxoffice"
	for _, role := range []string{config.RoleAPI, config.RoleRelay, config.RoleWorker, config.RoleAdmitter} {
		if !b.cfg.Has(role) {
			return name + "-" + strings.Join(b.cfg.Roles, "-")
		}
	}
	return name
}

// openOutbox opens the database and the outbox in it.
func (b *base) openOutbox(ctx context.Context) (err error) {
	if b.store, err = store.Open(ctx, b.cfg.DBURL); err != nil {
		return fmt.Errorf("BOXOFFICE_DB_URL (--db-url): %w", err)
	}
	b.opened.add(b.store.Close)
	if b.events, err = outboxIn(b.store); err != nil {
		return err
	}
	if err := b.events.Migrate(ctx); err != nil {
		return err
	}
	if b.outbox, err = outbox.New(b.events, outbox.Config{Route: route, TracerProvider: b.tracing, Logger: b.log}); err != nil {
		return err
	}
	b.opened.add(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), b.opt.Drain)
		defer cancel()
		return b.outbox.Close(ctx)
	})
	return nil
}

// redis makes a client of its own for its caller. It connects to nothing: an outage of
// Redis delays no start.
func (b *base) redis() (redis.UniversalClient, error) {
	client, err := redisclient.Open(b.cfg.RedisURL, redisclient.Config{Timeout: redisTimeout})
	if err != nil {
		return nil, fmt.Errorf("BOXOFFICE_REDIS_URL (--redis-url): %w", err)
	}
	client.AddHook(b.commands)
	b.opened.add(client.Close)
	return client, nil
}

// traced publishes messages that bypass the outbox in the trace of their caller.
func (b *base) traced(next message.Publisher) (message.Publisher, error) {
	if b.tracing == nil {
		return next, nil
	}
	return bus.NewTracedPublisher(next, b.tracing, b.bus.System())
}
