package routers

import (
	"net/http"

	"github.com/millrace-go/millrace"
)

// NetHTTP is the shop on net/http.
func NetHTTP(s Shop) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/queue/", s.room())
	mux.Handle("POST /orders/{eventId}", s.guard()(http.HandlerFunc(s.order)))
	return millrace.Wrap(mux)
}
