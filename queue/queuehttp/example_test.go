package queuehttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
)

// exampleHandlers are those of a room with one place. A real User reads something
// that a client cannot make up, such as a session.
func exampleHandlers() *queuehttp.Handlers {
	store, err := memqueue.New(memqueue.Config{})
	must(err)
	ring, err := token.NewRing("0123456789abcdef0123456789abcdef")
	must(err)
	room, err := queue.New(store, ring, queue.Config{Threshold: 1})
	must(err)
	entries, err := token.NewEntries(ring, token.Config{})
	must(err)
	h, err := queuehttp.New(room, entries, queuehttp.Config{
		User: func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil },
	})
	must(err)
	return h
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func serve(mux *http.ServeMux, method, path, user string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("X-User", user)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func ExampleNew() {
	mux := http.NewServeMux()
	exampleHandlers().Mount(mux.Handle, "/api/queue", nil)

	in := serve(mux, "POST", "/api/queue/check/show-1", "alice")
	fmt.Println(in.Code, in.Result().Cookies()[0].Name)
	fmt.Println(serve(mux, "GET", "/api/queue/status/show-1", "bob").Body.String()[:31])
	fmt.Println(serve(mux, "POST", "/api/queue/check/show-1", "bob").Body.String()[:78])
	fmt.Println(serve(mux, "POST", "/api/queue/leave/show-1", "bob").Code)
	// Output:
	// 200 urr-entry-token-show-1
	// {"status":"none","queued":false
	// {"status":"queued","queued":true,"position":1,"peopleAhead":0,"peopleBehind":0
	// 204
}

func ExampleHandlers_Guard() {
	h := exampleHandlers()
	mux := http.NewServeMux()
	h.Mount(mux.Handle, "/api/queue", nil)
	seats := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the seats") })
	mux.Handle("GET /api/seats/{eventId}", h.Guard(queuehttp.GuardConfig{})(seats))

	fmt.Println(serve(mux, "GET", "/api/seats/show-1", "alice").Body)

	r := httptest.NewRequest("GET", "/api/seats/show-1", nil)
	r.Header.Set("X-User", "alice")
	for _, cookie := range serve(mux, "POST", "/api/queue/check/show-1", "alice").Result().Cookies() {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(w.Body)
	// Output:
	// {"error":"Queue entry token required","redirectTo":"/queue"}
	// the seats
}

func ExampleHandlers_AdmitWrite() {
	h := exampleHandlers()
	reserve := func(w http.ResponseWriter, r *http.Request) {
		user, event := r.Header.Get("X-User"), "show-1" // the event stands in the body
		if err := h.AdmitWrite(r, user, event); err != nil {
			h.Refuse(w, r, err)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}
	r := httptest.NewRequest("POST", "/api/seats/reserve", nil)
	r.Header.Set("X-User", "alice")
	w := httptest.NewRecorder()
	reserve(w, r)
	fmt.Println(w.Code, w.Body)
	// Output: 403 {"error":"Queue entry token required","redirectTo":"/queue"}
}

func ExampleSafeNext() {
	for _, next := range []string{"/seats/show-1", "//evil.test", "/\\evil.test", "/%2fevil.test"} {
		fmt.Println(queuehttp.SafeNext(next))
	}
	// Output:
	// /seats/show-1 true
	//  false
	//  false
	//  false
}
