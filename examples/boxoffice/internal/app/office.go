package app

import (
	"context"
	"net"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/social"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox"
)

// office is the box office: its parts, on one base.
type office struct {
	*base
	sales     *sales
	social    *social.Social
	artists   *artists // nil when this process has no part in the mirror
	admitted  *admitted
	waiting   *waiting // nil when it has none in the waiting room
	news      *news
	streams   *streams // nil when it serves none
	consumers *consumers
	operator  *ops.Ops
	published *ops.Published
	relay     *outbox.Relay
}

// newOffice makes the parts, in the order in which they need each other. Only the
// simulated servers run already.
func newOffice(b *base, run *stages) (o *office, err error) {
	gateway, err := startGateway(b, run)
	if err != nil {
		return nil, err
	}
	artistAPI, err := startUpstream(b, run)
	if err != nil {
		return nil, err
	}
	o = &office{base: b}
	if o.sales, err = newSales(b, gateway); err != nil {
		return nil, err
	}
	if o.social, err = newSocial(b, o.sales.catalog); err != nil {
		return nil, err
	}
	if o.artists, err = newArtists(b); err != nil {
		return nil, err
	}
	if o.admitted, err = newAdmitted(b); err != nil {
		return nil, err
	}
	if o.waiting, err = newWaiting(b, o.sales.catalog, o.admitted); err != nil {
		return nil, err
	}
	if o.news, err = newNews(b, o.sales.catalog); err != nil {
		return nil, err
	}
	if o.cfg.Has(config.RoleAPI) {
		o.streams = newStreams(o.news.live)
	}
	o.consumers = newConsumers(b, o.sales.booking.Consumers(), o.sales.catalog.Consumers(), o.sales.payments.Consumers(),
		o.sales.stats.Consumers(), o.social.Consumers(), o.news.inbox.Consumers(), o.news.chat.Consumers())
	if err := o.oversee(); err != nil {
		return nil, err
	}
	if o.relay, err = newRelay(b, o.operator.RelayHooks()); err != nil {
		return nil, err
	}
	if err := o.artists.connect(b, artistAPI, o.operator.Lags()); err != nil {
		return nil, err
	}
	return o, o.consumers.connect(b, o.operator, o.artists)
}

// oversee makes the operator's reports of all parts.
func (o *office) oversee() (err error) {
	if o.published, err = ops.NewPublished(o.store, o.log); err != nil {
		return err
	}
	if err := o.published.Migrate(context.Background()); err != nil {
		return err
	}
	cfg := ops.Config{
		Store: o.store, Stats: o.sales.stats, Outbox: o.events, Bus: o.bus, Gateway: o.sales.charger, Published: o.published, Logger: o.log,
		PaymentLimit: o.cfg.PaymentLimit,
	}
	for _, c := range o.consumers.all {
		cfg.Consumers = append(cfg.Consumers, operated(c))
	}
	if o.cfg.Mirrors() {
		cfg.Consumers = append(cfg.Consumers, highWorker, lowWorker)
	}
	o.artists.operated(&cfg, o.cfg.Workers)
	o.waiting.operated(&cfg)
	o.news.operated(&cfg, o.cfg.Has(config.RoleAPI))
	if o.cfg.Has(config.RoleWorker) {
		cfg.Status, cfg.Duplicates, cfg.Executor = o.consumers.status, o.consumers.duplicates, o.sales.executor.Status
	}
	o.operator, err = ops.New(cfg)
	return err
}

// start starts the parts of this process's roles. The last to start is the first to end,
// and each part ends before those that it needs.
func (o *office) start(run *stages, s *server, ln net.Listener) {
	api, worker, relay := o.cfg.Has(config.RoleAPI), o.cfg.Has(config.RoleWorker), o.cfg.Has(config.RoleRelay)

	run.start("figures", o.operator.Run)
	if held := o.sales.held; held != nil {
		// Seats are moved after its start and before its end only.
		run.start("held seats", held.Run)
		if worker {
			run.start("sweep of the held seats", held.Sweep)
		}
	}
	if m := o.artists; m != nil {
		run.start("meter", m.meter.Run)
		run.start("artists", m.mirror.Run)
	}
	run.start("copy of the shows", o.sales.catalog.Run)
	if worker {
		run.start("old admissions", o.admitted.rows.Run)
	}
	if o.admitted.transport != nil {
		run.start("transport of the notices", o.admitted.transport.Run)
	}
	o.waiting.start(run, worker || o.cfg.RoomInMemory())
	if o.streams != nil {
		run.start("streams", o.streams.Run)
	}
	if api || worker {
		run.start("chat", o.news.chat.Run)
	}
	if relay {
		run.start("published", o.published.Run)
		run.start("relay", o.relay.Run)
	}
	if worker {
		run.start("consumers", o.consumers.runner.Run)
		run.start("pruner", o.consumers.prune)
		run.start("hold timeout", o.sales.booking.Run)
		run.start("payments", o.sales.executor.Run)
		run.start("votes", o.social.Votes.Run)
		run.start("comment counts", o.social.Counts.Run)
		run.start("notifications", o.news.inbox.Run)
		if m := o.artists; m != nil {
			// They request refreshes, so they end before the consumers.
			run.start("prefetch", m.prefetch.Run)
			run.start("archiver", m.archiver.Run)
		}
	}
	run.serveHTTP("http", s.http, ln)
	if o.streams != nil {
		run.start("open streams", o.streams.Drain)
	}
	if w := o.waiting; w != nil && w.admits {
		// A member admitted during the shutdown could find the server closed.
		run.start("admitter", w.room.Run)
		if o.cfg.Queue.Opening.Show != "" {
			run.start("opening", o.opensLater)
		}
	}
}

// topics are those that must exist before the first publish: a group that is made later
// would miss earlier messages.
func (o *office) topics() []bus.Topic {
	all := topics(o.consumers.all)
	if o.cfg.Mirrors() {
		all = append(all, artist.Topics()...)
	}
	return all
}

// declare makes the topics. It waits for a transport that is absent, since nothing may be
// published before its groups exist.
func (o *office) declare(ctx context.Context) error {
	pause := kit.Backoff{Max: 30 * time.Second, Jitter: .2}
	for attempt := 1; ; attempt++ {
		err := o.bus.Declare(ctx, o.topics()...)
		if err == nil || fault.Of(err) != fault.Infrastructure {
			return err
		}
		o.log.WarnContext(ctx, "BOXOFFICE_BUS_URL (--bus-url): the transport does not answer, and the office opens when it does; it is tried again", "error", err)
		if serr := kit.Sleep(ctx, pause.Delay(attempt)); serr != nil {
			return serr
		}
	}
}
