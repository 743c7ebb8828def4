package crowd_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// A box office without shows.
func ExampleNew() {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/login", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"token":"t"}`) })
	mux.HandleFunc("GET /api/shows", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `[]`) })
	mux.HandleFunc("GET /api/notifications", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"notifications":[]}`) })
	mux.HandleFunc("GET /api/notifications/stream", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") })
	server := httptest.NewServer(mux)
	defer server.Close()

	fans, err := crowd.New(crowd.Config{URL: server.URL, Fans: 5, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := fans.Run(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	p := fans.Progress()
	fmt.Println(p.Done, "fans,", p.Ends[crowd.EndSoldOut], "found it sold out")
	// Output: 5 fans, 5 found it sold out
}
