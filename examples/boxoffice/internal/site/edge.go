package site

import (
	"errors"
	"net/http"
)

var errEdge = errors.New("the gate before the page can't be asked")

// behind puts a page behind a gate. A gate that can't be asked lets nobody pass, and
// answers for programs; people get a page that retries by itself.
func (s *site) behind(edge func(http.Handler) http.Handler, page http.Handler) http.Handler {
	guarded := edge(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e, ok := w.(*edgeWriter); ok {
			w = e.ResponseWriter // the page's answer is its own
		}
		page.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := &edgeWriter{ResponseWriter: w}
		guarded.ServeHTTP(e, r)
		if e.away {
			s.unavailable(w, r, errEdge)
		}
	})
}

// edgeWriter passes on a gate's answers, except those of an outage.
type edgeWriter struct {
	http.ResponseWriter
	away bool
}

// WriteHeader implements http.ResponseWriter.
func (e *edgeWriter) WriteHeader(status int) {
	if e.away = status == http.StatusServiceUnavailable; !e.away {
		e.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (e *edgeWriter) Write(b []byte) (int, error) {
	if e.away {
		return len(b), nil
	}
	return e.ResponseWriter.Write(b)
}
