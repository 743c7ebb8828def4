package routes

import (
	"net/http"
	"slices"
	"strings"
)

// Mux is an [http.ServeMux] that remembers its patterns. As with http.ServeMux, all
// handlers are registered before it serves.
type Mux struct {
	mux      *http.ServeMux
	patterns []string
}

// New makes an empty Mux.
func New() *Mux { return &Mux{mux: http.NewServeMux()} }

// Handle registers a handler, as [http.ServeMux.Handle] does.
func (m *Mux) Handle(pattern string, h http.Handler) {
	m.mux.Handle(pattern, h)
	m.patterns = append(m.patterns, pattern)
}

// HandleFunc registers a function.
func (m *Mux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

// Handler is the handler of a request, and its pattern; see [http.ServeMux.Handler].
func (m *Mux) Handler(r *http.Request) (h http.Handler, pattern string) { return m.mux.Handler(r) }

// ServeHTTP implements http.Handler.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// Patterns are the registered patterns, in the order of registration.
func (m *Mux) Patterns() []string { return slices.Clone(m.patterns) }

// Of is the pattern that matched a request, without its method; "" before and when none
// did.
func Of(r *http.Request) string {
	if _, path, ok := strings.Cut(r.Pattern, " "); ok {
		return path
	}
	return r.Pattern
}
