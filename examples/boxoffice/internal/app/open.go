package app

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/stats"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	tickets "github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
)

// outboxStore is the part of an outbox's store that the app uses.
type outboxStore interface {
	driver.Store
	driver.Inspector
	Migrate(ctx context.Context) error
}

// leaseTTL is how long a killed process keeps the outbox, and its partitions of a transport
// in a file, from the next one. On a server they are kept as long as the transports do by
// default, 10 s: there are dozens of them, in several processes, and on a busy MySQL leases
// of 3 s ran out.
const leaseTTL = 3 * time.Second

// open opens the database, the outbox, the transport and Redis.
func (a *App) open(ctx context.Context, opened *closers) error {
	var err error
	if a.store, err = store.Open(ctx, a.cfg.DBURL); err != nil {
		return fmt.Errorf("BOXOFFICE_DB_URL (--db-url): %w", err)
	}
	opened.add(a.store.Close)

	if a.events, err = outboxIn(a.store); err != nil {
		return err
	}
	if err := a.events.Migrate(ctx); err != nil {
		return err
	}
	if a.published, err = ops.NewPublished(a.store, a.log); err != nil {
		return err
	}
	if err := a.published.Migrate(ctx); err != nil {
		return err
	}
	if a.outbox, err = outbox.New(a.events, outbox.Config{Route: route, TracerProvider: a.tracing, Logger: a.log}); err != nil {
		return err
	}
	opened.add(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), a.opt.Drain)
		defer cancel()
		return a.outbox.Close(ctx)
	})

	if a.bus, err = a.transports().Open(ctx, a.cfg.BusURL); err != nil {
		return fmt.Errorf("BOXOFFICE_BUS_URL (--bus-url): %w", err)
	}
	opened.add(a.bus.Close)
	return a.openShared(opened)
}

// route names the topic of each event.
func route(e event.Event) (string, error) {
	switch e.AggregateType {
	case "payment":
		return events.Payments, nil
	case "reservation":
		return events.Reservations, nil
	case "transfer":
		return events.Transfers, nil
	case "membership":
		return events.Memberships, nil
	case "like":
		return events.Likes, nil
	case "order":
		return events.Orders, nil
	case "product":
		return events.Products, nil
	case "stock":
		return events.Stock, nil
	case "chat", "comment", "notice": // keyed by the room, the show, the member
		return events.Domain, nil
	}
	return "", fmt.Errorf("app: no topic for a %s about %q", e.Type, e.AggregateType)
}

// startGateway makes the client of the payment gateway, and the simulated
// gateway when no other is configured.
func (a *App) startGateway(run *stages, opened *closers) error {
	url := a.cfg.GatewayURL
	if url == "" && (a.cfg.Has(config.RoleWorker) || a.cfg.Has(config.RoleAPI)) {
		cfg := a.opt.Gateway
		cfg.Path = filepath.Join(a.cfg.DataDir, "gateway.db")
		g, err := gateway.New(cfg)
		if err != nil {
			return err
		}
		opened.add(g.Close)
		if url, err = run.serveGateway(g); err != nil {
			return err
		}
	}
	a.charger = payment.NewGateway(url, a.opt.GatewayTimeout, 128)
	opened.add(func() error { a.charger.Close(); return nil })
	return nil
}

// build makes the parts of the business that this process's roles need.
func (a *App) build(artistAPI string, opened *closers) error {
	var err error
	if a.catalog, err = catalog.New(a.store, a.outbox); err != nil {
		return err
	}
	if err := a.buildHeldSeats(opened); err != nil {
		return err
	}
	if err := a.shareShows(opened); err != nil {
		return err
	}
	if a.payments, err = payment.New(a.store, a.outbox); err != nil {
		return err
	}
	a.booking, err = booking.New(a.store, a.catalog, a.outbox, a.payments, booking.Config{
		Hold: a.cfg.Hold, PaymentLimit: a.cfg.PaymentLimit, Holder: a.holder, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.payments.SetReservations(a.booking)
	keys, err := tickets.ParseKeys(a.cfg.TicketKeys)
	if err != nil {
		return err
	}
	if a.door, err = tickets.New(a.store, keys); err != nil {
		return err
	}
	if a.stats, err = stats.New(a.store); err != nil {
		return err
	}
	if a.executor, err = payment.NewExecutor(a.payments, a.charger, payment.ExecutorConfig{
		Holder: a.holder, Sole: a.sole, Drain: a.opt.Drain, Logger: a.log,
	}); err != nil {
		return err
	}
	if err := a.buildSocial(opened); err != nil {
		return err
	}
	if err := a.buildBudget(); err != nil {
		return err
	}
	if err := a.buildNotices(); err != nil {
		return err
	}
	if err := a.buildWaiting(opened); err != nil {
		return err
	}
	if err := a.buildInbox(); err != nil {
		return err
	}
	if err := a.buildLive(opened); err != nil {
		return err
	}
	a.joinInbox()
	if err := a.buildChat(opened); err != nil {
		return err
	}
	if err := a.buildOps(); err != nil {
		return err
	}
	if err := a.buildRelay(); err != nil {
		return err
	}
	if err := a.buildArtists(artistAPI, opened); err != nil {
		return err
	}
	return a.buildRunner()
}

func (a *App) buildOps() (err error) {
	cfg := ops.Config{
		Store: a.store, Stats: a.stats, Outbox: a.events, Bus: a.bus, Gateway: a.charger, Published: a.published, Logger: a.log,
	}
	for _, c := range a.consumers() {
		cfg.Consumers = append(cfg.Consumers, operated(c))
	}
	a.operatedArtists(&cfg)
	a.operatedRooms(&cfg)
	cfg.Streams, cfg.Chat = a.liveStats(), a.chatStats()
	if a.cfg.Has(config.RoleWorker) {
		cfg.Status = func() []bus.ConsumerStatus { return a.runner.Status() }
		cfg.Executor, cfg.Duplicates = a.executor.Status, a.duplicates
	}
	a.ops, err = ops.New(cfg)
	return err
}

func (a *App) buildRelay() (err error) {
	transport := a.bus.Publisher()
	if a.opt.WrapRelay != nil {
		if transport, err = a.opt.WrapRelay(transport); err != nil {
			return err
		}
	}
	a.relay, err = outbox.NewRelay(a.events, transport, a.relayConfig())
	return err
}

func (a *App) relayConfig() outbox.RelayConfig {
	c := outbox.RelayConfig{
		Ordering: outbox.ByKey, ShutdownTimeout: a.opt.Drain, Logger: a.log, LeaseTTL: leaseTTL, Holder: a.holder,
		Classifiers: []fault.Classifier{a.store.Classify},
		Hooks:       a.ops.RelayHooks(),

		TracerProvider: a.tracing, System: a.bus.System(),
	}
	switch a.bus.Name() {
	case "sqlite", "postgres", "mysql":
		// Each call is a transaction of its own there: few large ones are cheaper.
		c.Lanes, c.Chunk = 1, 500
	}
	return c
}

func (a *App) idempotencyStore(ctx context.Context) (*sqlidempotency.Store, error) {
	s, err := sqlidempotency.New(a.store.DB(), sqlidempotency.Config{Dialect: sqlidempotency.Dialect(a.store.Dialect())})
	if err != nil {
		return nil, err
	}
	return s, s.Migrate(ctx)
}
