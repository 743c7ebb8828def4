package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/door"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

// knownFor is how long the waiting room uses its last answer about a show: seats
// become available or sold while people wait.
const knownFor = time.Second

// newQueue makes the handlers of the waiting room.
func (a *API) newQueue() (*queuehttp.Handlers, error) {
	return queuehttp.New(a.cfg.Room, a.cfg.Entries, queuehttp.Config{
		User: a.cfg.Login.Member, Known: a.onSale, KnownFor: knownFor, Gate: a.gate.Position, Lane: a.cfg.Lane.of(a.cfg.Login), NewPosition: a.gate.NewPosition,
		EntryCookie: entryCookie, Passes: a.cfg.Passes, Fail: a.queueProblem, Secure: door.HTTPS, Logger: a.log,
	})
}

// onSale reports whether a member may line up for a show. Held seats become free when
// a payment fails, so it is worth lining up while there are some.
func (a *API) onSale(ctx context.Context, event string) error {
	show, err := a.cfg.Catalog.Show(ctx, event)
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
func (a *API) queueProblem(w http.ResponseWriter, _ *http.Request, p *queuehttp.Problem) {
	switch {
	case p.Status == http.StatusUnauthorized:
		signIn(p.Err).write(w)
	case errors.Is(p.Err, queuehttp.ErrUnknownEvent):
		problemOf(p.Err, a.cfg.Store.Classify).write(w)
	default:
		p.Write(w)
	}
}

// admitted guards reads of an event. It reports false after it has answered.
func (a *API) admitted(w http.ResponseWriter, r *http.Request, member, event string) bool {
	return a.passed(w, r, a.queue.Admit(r, member, event))
}

// inside guards writes: the token alone is not enough when its owner has left the
// room since.
func (a *API) inside(w http.ResponseWriter, r *http.Request, member, event string) bool {
	return a.passed(w, r, a.queue.AdmitWrite(r, member, event))
}

func (a *API) passed(w http.ResponseWriter, r *http.Request, err error) bool {
	if err != nil {
		a.queue.Refuse(w, r, err)
	}
	return err == nil
}
