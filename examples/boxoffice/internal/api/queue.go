package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/door"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
)

// knownFor is how long the waiting room uses its last answer about a show: seats
// become available or sold while people wait.
const knownFor = time.Second

// waitingRoutes are the waiting room and the gate before it.
type waitingRoutes struct {
	gate    *frontgate.Handlers
	queue   *queuehttp.Handlers
	catalog *catalog.Catalog
	entries *token.Entries
	guard   *guard
}

func newWaitingRoutes(cfg Config, g *guard) (q *waitingRoutes, err error) {
	q = &waitingRoutes{catalog: cfg.Catalog, entries: cfg.Entries, guard: g}
	if q.gate, err = frontgate.NewHandlers(cfg.Gate, frontgate.HTTPConfig{Member: q.member, Secure: door.HTTPS, Logger: g.log}); err != nil {
		return nil, err
	}
	q.queue, err = q.newQueue(cfg.Room, cfg.Lane, cfg.PassKeys)
	return q, err
}

func (q *waitingRoutes) mount(g *guard) {
	q.queue.Mount(g.mux.Handle, "/api/queue", func(next http.Handler) http.Handler {
		return g.handle(g.admin(func(w http.ResponseWriter, r *http.Request) error {
			next.ServeHTTP(w, r)
			return nil
		}))
	})
	q.gate.Mount(func(pattern string, h http.Handler) { g.public(pattern, q.ofShow(h)) }, "/vwr")
	q.gate.MountAdmin(func(pattern string, h http.Handler) { g.operator(pattern, q.ofShow(h)) }, "/api/admin/vwr")
}

// newQueue makes the handlers of the waiting room.
func (q *waitingRoutes) newQueue(room *queue.Room, lane Lane, edge *token.Ring) (*queuehttp.Handlers, error) {
	return queuehttp.New(room, q.entries, queuehttp.Config{
		User: q.guard.login.Member, Known: q.onSale, KnownFor: knownFor, Gate: q.gate.Position, Lane: lane.of(q.guard.login), NewPosition: q.gate.NewPosition,
		EntryCookie: entryCookie, PassKeys: edge, Fail: q.queueProblem, Secure: door.HTTPS, Logger: q.guard.log,
	})
}

// onSale reports whether a member may line up for a show. Held seats become free when
// a payment fails, so it is worth lining up while there are some.
func (q *waitingRoutes) onSale(ctx context.Context, event string) error {
	show, err := q.catalog.Show(ctx, event)
	switch {
	case errors.Is(err, catalog.ErrNoShow):
		return fmt.Errorf("%w: %w", queuehttp.ErrUnknownEvent, err)
	case err != nil:
		return err
	case show.Seats.Total > 0 && show.Seats.Sold == show.Seats.Total:
		return queuehttp.ErrSoldOut
	}
	return nil
}

// queueProblem answers as the other routes do.
func (q *waitingRoutes) queueProblem(w http.ResponseWriter, _ *http.Request, p *queuehttp.Problem) {
	switch {
	case p.Status == http.StatusUnauthorized:
		signIn(p.Err).write(w)
	case errors.Is(p.Err, queuehttp.ErrUnknownEvent):
		problemOf(p.Err, q.guard.classify).write(w)
	default:
		p.Write(w)
	}
}
