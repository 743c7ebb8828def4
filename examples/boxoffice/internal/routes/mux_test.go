package routes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/routes"
)

func ExampleNew() {
	mux := routes.New()
	mux.HandleFunc("GET /shows/{id}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, r.PathValue("id")) })
	fmt.Println(mux.Patterns())
	// Output: [GET /shows/{id}]
}

func TestMux(t *testing.T) {
	mux := routes.New()
	said := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, text, r.PathValue("id")) })
	}
	mux.Handle("GET /a/{id}", said("a"))
	mux.HandleFunc("POST /b", said("b").ServeHTTP)
	assert.Equal(t, []string{"GET /a/{id}", "POST /b"}, mux.Patterns())
	for _, c := range []struct{ method, path, pattern, body string }{
		{"GET", "/a/1", "GET /a/{id}", "a1"}, {"POST", "/b", "POST /b", "b"},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		if _, pattern := mux.Handler(r); pattern != c.pattern {
			t.Errorf("%s is %q", c.path, pattern)
		}
		w := httptest.NewRecorder()
		if mux.ServeHTTP(w, r); w.Body.String() != c.body {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
	}
	if mux.Patterns()[0] = "changed"; mux.Patterns()[0] == "changed" {
		t.Error("the list is the caller's to change")
	}
}

func TestRefused(t *testing.T) {
	mux := routes.New()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a pattern that cannot be is taken")
			}
		}()
		mux.Handle("GET nowhere{", http.NotFoundHandler())
	}()
	assert.Empty(t, mux.Patterns())
}
