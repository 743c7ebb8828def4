package app

import (
	"bufio"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/routes"
)

// observe counts requests and turns a panic into an answer.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &recorder{ResponseWriter: w}
		defer func() {
			begun := false
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler { //nolint:errorlint // the very value, by contract
					panic(v)
				}
				s.log.ErrorContext(r.Context(), "request panicked", "method", r.Method, "route", r.Pattern, "panic", v, "stack", string(debug.Stack()))
				if begun = seen.status != 0; !begun {
					http.Error(seen, "something went wrong in the box office", http.StatusInternalServerError)
				}
			}
			if seen.status == 0 {
				seen.status = http.StatusOK
			}
			s.requests.Observe(routes.Of(r), r.Method, seen.status, seen.until().Sub(began))
			if begun {
				panic(http.ErrAbortHandler) // the client must not take the half of an answer for a whole one
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

// recorder remembers the status, and when a long answer began.
type recorder struct {
	http.ResponseWriter
	status int
	goesOn time.Time // zero for an answer that ends by itself
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	r.begins(status)
	r.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (r *recorder) Write(b []byte) (int, error) {
	r.begins(http.StatusOK)
	return r.ResponseWriter.Write(b)
}

// Hijack implements http.Hijacker, if the ResponseWriter behind it does.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err == nil && r.goesOn.IsZero() {
		r.goesOn = time.Now()
	}
	return conn, rw, err
}

// Unwrap lets http.ResponseController through.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) begins(status int) {
	if r.status != 0 {
		return
	}
	r.status = status
	if status == http.StatusSwitchingProtocols || strings.HasPrefix(r.Header().Get("Content-Type"), "text/event-stream") {
		r.goesOn = time.Now()
	}
}

// until is when the request ended, or its long answer began.
func (r *recorder) until() time.Time {
	if r.goesOn.IsZero() {
		return time.Now()
	}
	return r.goesOn
}
