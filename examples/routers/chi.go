package routers

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/millrace-go/millrace"
)

// Chi is the shop on chi, which uses the middleware of net/http.
func Chi(s Shop) http.Handler {
	r := chi.NewRouter()
	r.Use(millrace.Wrap)
	r.Handle("/api/queue/*", s.room())
	r.With(s.guard()).Post("/orders/{eventId}", s.order)
	return r
}
