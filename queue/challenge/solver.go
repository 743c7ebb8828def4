package challenge

import (
	_ "embed"
	"net/http"
	"strconv"
)

//go:embed solver.js
var solver []byte

// Solver serves the script that a browser solves the puzzles with, in a worker of its
// own. It changes with releases only, and caches may keep it for a day.
func Solver() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/javascript; charset=utf-8")
		h.Set("Cache-Control", "public, max-age=86400")
		h.Set("Content-Length", strconv.Itoa(len(solver)))
		h.Set("Content-Security-Policy", "default-src 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodHead {
			_, _ = w.Write(solver) // the visitor may be gone
		}
	})
}
