package app

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/frontgate"
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
	passes  *token.Passes // nil where no edge is trusted
	// tables makes the tables of the gates; nil where none are needed.
	tables func(context.Context) error
	// admitter is nil in a process that does not admit from the line.
	admitter *queue.Admitter
	// notices is nil where they are off.
	notices *queuenotice.Notices
}

// flushTimeout bounds the last call of the room.
const flushTimeout = 2 * time.Second

// waits reports whether this process has a part in the waiting room.
func (a *App) waits() bool {
	if a.cfg.RoomInMemory() {
		return a.cfg.Has(config.RoleAPI)
	}
	return a.cfg.Has(config.RoleAPI) || a.cfg.Has(config.RoleAdmitter) || a.cfg.Has(config.RoleWorker)
}

// buildWaiting makes the waiting room. It connects to nothing: without Redis nobody enters,
// and the rest works.
func (a *App) buildWaiting(opened *closers) error {
	if !a.waits() {
		return nil
	}
	keys, err := token.NewRing(a.cfg.EntrySecrets...)
	if err != nil {
		return fmt.Errorf("QUEUE_ENTRY_TOKEN_SECRET (--queue-entry-token-secret): %w", err)
	}
	w := &waiting{}
	if w.entries, err = token.NewEntries(keys, token.Config{Issuer: "boxoffice", Lasts: a.cfg.Queue.Active}); err != nil {
		return err
	}
	if len(a.cfg.EdgeSecrets) > 0 {
		edge, err := token.NewRing(a.cfg.EdgeSecrets...)
		if err != nil {
			return fmt.Errorf("BOXOFFICE_EDGE_SECRET (--edge-secret): %w", err)
		}
		w.passes = token.NewPasses(edge)
	}
	store, counters, err := a.waitingStores(opened)
	if err != nil {
		return err
	}
	if a.cfg.GateURL != "" {
		if counters, err = a.gateByURL(w, opened); err != nil {
			return err
		}
	}
	if w.notices, err = a.newNotices(w); err != nil {
		return err
	}
	room := a.roomConfig()
	if w.notices != nil {
		room.Notify = w.notices.Notify
	}
	if w.room, err = queue.New(store, keys, room); err != nil {
		return err
	}
	if w.gate, err = frontgate.New(counters, keys, frontgate.Config{Line: w.room, Logger: a.log}); err != nil {
		return err
	}
	a.waiting = w
	if a.cfg.Has(config.RoleAdmitter) {
		w.admitter, err = queue.NewAdmitter(w.room, queue.AdmitterConfig{})
	}
	return err
}

func (a *App) roomConfig() queue.Config {
	q := a.cfg.Queue
	c := queue.Config{
		Threshold: q.Threshold, Active: q.Active, Seen: q.Seen, Tick: q.Tick, Batch: q.Batch, SweepEvery: q.SweepEvery,
		Timeout: redisTimeout, Logger: a.log, Settings: a.store.RoomSettings(), Stock: a.stock, Lanes: a.lanes(),
	}
	if a.cfg.RoomInMemory() {
		c.Settle = a.opt.Settle
	}
	return c
}

// waitingStores keep the lines and the counters of the gates: in Redis, or in this
// process when the room is its own.
func (a *App) waitingStores(opened *closers) (queue.Store, frontgate.Store, error) {
	if a.cfg.RoomInMemory() {
		lines, err := memqueue.New(memqueue.Config{})
		if err != nil {
			return nil, nil, err
		}
		counters, err := memgate.New(memgate.Config{})
		return lines, counters, err
	}
	// A client of their own: a crowd's polls do not wait for other calls' connections.
	client, err := a.openRedis(opened)
	if err != nil {
		return nil, nil, err
	}
	lines, err := redisqueue.New(client, redisqueue.Config{Prefix: a.cfg.RedisPrefix})
	if err != nil {
		return nil, nil, err
	}
	counters, err := redisgate.New(client, redisgate.Config{Prefix: a.cfg.RedisPrefix})
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

// startWaiting starts the parts that the API needs. They end after the API.
func (a *App) startWaiting(run *stages) {
	w := a.waiting
	if w == nil {
		return
	}
	run.start("waiting room", w.flush)
	if w.tables != nil {
		run.start("tables of the front gates", func(ctx context.Context) error { return a.makeTables(ctx, w.tables) })
	}
	// In memory the gates are where the room is.
	if a.cfg.Has(config.RoleWorker) || a.cfg.RoomInMemory() {
		run.start("front gates", w.gate.Run)
	}
}

// startAdmission lets people in. It is the last to start and the first to end: a member
// admitted during the shutdown could find the server closed.
func (a *App) startAdmission(run *stages) {
	w := a.waiting
	if w == nil || w.admitter == nil {
		return
	}
	run.start("admitter", w.admitter.Run)
	if a.cfg.Queue.Opening.Show != "" {
		run.start("opening", a.opensLater)
	}
}
