package app

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/queue"
	queuedriver "github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/frontgate/memgate"
	"github.com/millrace-go/millrace/queue/frontgate/redisgate"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuenotice"
	"github.com/millrace-go/millrace/queue/redisqueue"
	"github.com/millrace-go/millrace/queue/token"
)

// waiting is the waiting room and the gate before it, as far as this process has a part in it.
type waiting struct {
	room    *queue.Room
	entries *token.Entries
	gate    *frontgate.Gate
	edge    *token.Ring // nil where no edge is trusted
	// tables is a part that makes the tables of the gates; nil where none are needed.
	tables func(context.Context) error
	// admits says that the process admits from the line.
	admits bool
	// notices is nil where they are off.
	notices *queuenotice.Notices
	shows   *catalog.Catalog
}

// flushTimeout bounds the last call of the room.
const flushTimeout = 2 * time.Second

// hasRoom reports whether a process has a part in the waiting room.
func hasRoom(cfg config.Config) bool {
	if cfg.RoomInMemory() {
		return cfg.Has(config.RoleAPI)
	}
	return cfg.Has(config.RoleAPI) || cfg.Has(config.RoleAdmitter) || cfg.Has(config.RoleWorker)
}

// newWaiting makes the waiting room; it is nil in a process without one. It connects to
// nothing: without Redis nobody enters, and the rest works.
func newWaiting(b *base, shows *catalog.Catalog, admitted *admitted) (*waiting, error) {
	if !hasRoom(b.cfg) {
		return nil, nil
	}
	keys, err := token.NewRing(b.cfg.EntrySecrets...)
	if err != nil {
		return nil, fmt.Errorf("QUEUE_ENTRY_TOKEN_SECRET (--queue-entry-token-secret): %w", err)
	}
	w := &waiting{shows: shows}
	if w.entries, err = token.NewEntries(keys, token.Config{Issuer: "boxoffice", Lasts: b.cfg.Queue.Active}); err != nil {
		return nil, err
	}
	if len(b.cfg.EdgeSecrets) > 0 {
		if w.edge, err = token.NewRing(b.cfg.EdgeSecrets...); err != nil {
			return nil, fmt.Errorf("BOXOFFICE_EDGE_SECRET (--edge-secret): %w", err)
		}
	}
	store, counters, err := waitingStores(b)
	if err != nil {
		return nil, err
	}
	if b.cfg.GateURL != "" {
		if counters, err = gateByURL(b, w); err != nil {
			return nil, err
		}
	}
	if w.notices, err = w.newNotices(b, admitted); err != nil {
		return nil, err
	}
	room := roomConfig(b, shows)
	if w.notices != nil {
		room.Notify = w.notices.Notify
	}
	if w.room, err = queue.New(store, keys, room); err != nil {
		return nil, err
	}
	if w.gate, err = frontgate.New(counters, keys, frontgate.Config{Line: w.room, Logger: b.log}); err != nil {
		return nil, err
	}
	w.admits = b.cfg.Has(config.RoleAdmitter)
	return w, nil
}

func roomConfig(b *base, shows *catalog.Catalog) queue.Config {
	q := b.cfg.Queue
	c := queue.Config{
		Threshold: q.Threshold, Active: q.Active, Seen: q.Seen, Tick: q.Tick, Batch: q.Batch, SweepEvery: q.SweepEvery,
		Timeout: redisTimeout, Logger: b.log, Settings: b.store.RoomSettings(), Stock: stock(shows), Lanes: lanes(b.cfg),
	}
	if b.cfg.RoomInMemory() {
		c.Settle = b.opt.Settle
	}
	return c
}

// waitingStores keep the lines and the counters of the gates: in Redis, or in this
// process when the room is its own.
func waitingStores(b *base) (queuedriver.Store, driver.Store, error) {
	if b.cfg.RoomInMemory() {
		lines, err := memqueue.New(memqueue.Config{})
		if err != nil {
			return nil, nil, err
		}
		counters, err := memgate.New(memgate.Config{})
		return lines, counters, err
	}
	// A client of their own: a crowd's polls do not wait for other calls' connections.
	client, err := b.redis()
	if err != nil {
		return nil, nil, err
	}
	lines, err := redisqueue.New(client, redisqueue.Config{Prefix: b.cfg.RedisPrefix})
	if err != nil {
		return nil, nil, err
	}
	counters, err := redisgate.New(client, redisgate.Config{Prefix: b.cfg.RedisPrefix})
	return lines, counters, err
}

// issue makes the entry token that a notice carries.
func (w *waiting) issue(event, user string, e queue.Entry) (string, error) {
	return w.entries.Issue(token.EntryClaims{Event: event, User: user, ID: e.ID})
}

// flush is a part that, at its end, tells the store which members were seen last.
func (w *waiting) flush(ctx context.Context) error {
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	// Without the flush a member keeps the place for longer than a restart takes.
	_ = w.room.Flush(ctx)
	return nil
}

// start starts the parts that the API needs, which end after it. The gates are served by
// workers, or where the room is in memory.
func (w *waiting) start(run *stages, gates bool) {
	if w == nil {
		return
	}
	if w.notices != nil {
		run.start("notices", w.notices.Run)
	}
	run.start("waiting room", w.flush)
	if w.tables != nil {
		run.start("tables of the front gates", w.tables)
	}
	if gates {
		run.start("front gates", w.gate.Run)
	}
}

// operated adds the waiting room of each show to the operator's reports.
func (w *waiting) operated(cfg *ops.Config) {
	if w == nil {
		return
	}
	cfg.Rooms = &ops.RoomsConfig{Room: w.room, Gate: w.gate, Shows: func(ctx context.Context) ([]ops.RoomShow, error) {
		shows, err := w.shows.Shows(ctx)
		if err != nil {
			return nil, err
		}
		all := make([]ops.RoomShow, len(shows))
		for i, show := range shows {
			all[i] = ops.RoomShow{ID: show.ID, Title: show.Title}
		}
		return all, nil
	}}
}

// collectors are the metrics of the waiting room.
func (w *waiting) collectors() ([]prometheus.Collector, error) {
	if w == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	shows, err := w.shows.Shows(ctx)
	if err != nil {
		return nil, err
	}
	cfg := metrics.QueueConfig{}
	for _, show := range shows {
		cfg.Events = append(cfg.Events, show.ID)
	}
	if w.notices != nil {
		cfg.Notices = w.notices
	}
	room, err := metrics.NewQueue(w.room, cfg)
	if err != nil {
		return nil, err
	}
	return []prometheus.Collector{room}, nil
}
