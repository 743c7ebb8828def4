package challenge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/millrace-go/millrace/queue/challenge"
)

// The script with which browsers solve the puzzles, for Config.Solver of package queuepage.
func ExampleSolver() {
	mux := http.NewServeMux()
	mux.Handle("GET /queue-solver.js", challenge.Solver())
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/queue-solver.js", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/javascript; charset=utf-8
}
