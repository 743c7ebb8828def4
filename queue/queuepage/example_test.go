package queuepage_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/millrace-go/millrace/queue/queuepage"
)

func ExampleNew() {
	room, err := queuepage.New(queuepage.Config{
		SignIn: "/login?next={here}",
		Brand: queuepage.Brand{
			Title: "Paper Lantern Tickets",
			Home:  "/",
			Light: queuepage.Palette{Accent: "#7a2e4d", Wash: "#f6e6ec"},
			Dark:  queuepage.Palette{Accent: "#f0a6c0", Wash: "#36202a"},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	gate, err := queuepage.New(queuepage.Config{Gate: true, Brand: queuepage.Brand{Title: "Paper Lantern Tickets"}})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /queue/{eventId}", room)
	mux.Handle("GET /vwr/{eventId}", gate)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/queue/show-1", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	fmt.Println(w.Header().Get("Cache-Control"))
	// Output:
	// 200 text/html; charset=utf-8
	// public, max-age=60, must-revalidate
}
