// Package routers shows an HTTP handler that emits an event in its transaction, behind the
// waiting room's guard, on net/http, chi, gin and echo: a file each.
//
// Only the router differs: the waiting room's own routes are on an http.ServeMux, the
// guard is a middleware of net/http, and millrace.Wrap passes the request's id in and out.
package routers

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

// Ordered is emitted for each order.
type Ordered struct{ Show, Seat string }

// Spec implements millrace.Event.
func (o Ordered) Spec() millrace.Spec { return millrace.On("orders", "Ordered", o.Show) }

// Shop holds the dependencies of the handlers of all routers.
type Shop struct {
	App  *millrace.App[*sql.Tx]
	Room *queuehttp.Handlers
}

// Order takes an order: the row and the event commit together.
func (s Shop) Order(ctx context.Context, o Ordered) error {
	return s.App.Do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO orders (show, seat) VALUES (?, ?)`, o.Show, o.Seat); err != nil {
			return err
		}
		return s.App.Emit(ctx, tx, o)
	})
}

// order is the handler of net/http and chi. Both fill the path's values.
func (s Shop) order(w http.ResponseWriter, r *http.Request) {
	var o Ordered
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o.Show = r.PathValue("eventId") // which the guard has checked, whatever the body says
	if err := s.Order(r.Context(), o); err != nil {
		http.Error(w, "the order was not taken", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

// guard lets only admitted requests of the waiting room pass.
func (s Shop) guard() func(http.Handler) http.Handler {
	return s.Room.Guard(queuehttp.GuardConfig{Writes: true})
}

// room has the waiting room's routes.
func (s Shop) room() http.Handler {
	mux := http.NewServeMux()
	s.Room.Mount(mux.Handle, "/api/queue", nil)
	return mux
}
