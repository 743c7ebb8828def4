package gate_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/token"
)

func Example() {
	keys, err := token.NewRing(strings.Repeat("a secret ", 4))
	if err != nil {
		panic(err)
	}
	store, err := memqueue.New(memqueue.Config{}) // redisqueue for several gates
	if err != nil {
		panic(err)
	}
	room, err := queue.New(store, keys, queue.Config{Threshold: 1000})
	if err != nil {
		panic(err)
	}
	g, err := gate.New(room, gate.Config{Event: "sale", Keys: keys, Origin: &url.URL{Scheme: "http", Host: "127.0.0.1:3000"}})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	handler, err := g.Handler()
	if err != nil {
		panic(err)
	}

	r := httptest.NewRequest("GET", "/shoes", nil)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("Retry-After"), w.Header().Get("Content-Type"))
	// Output: 503 5 text/html; charset=utf-8
}

// A program behind the gate refuses requests that went past it.
func ExampleNewVerifier() {
	keys, err := token.NewRing(strings.Repeat("a secret ", 4))
	if err != nil {
		panic(err)
	}
	verify, err := gate.NewVerifier(keys)
	if err != nil {
		panic(err)
	}
	shop := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := verify(r); err != nil {
			http.Error(w, "come through the waiting room", http.StatusForbidden)
			return
		}
		fmt.Fprintln(w, "welcome")
	})
	w := httptest.NewRecorder()
	shop.ServeHTTP(w, httptest.NewRequest("GET", "/shoes", nil))
	fmt.Println(w.Code)
	// Output: 403
}
