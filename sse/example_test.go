package sse_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/memsse"
)

func ExampleNew() {
	store, broker := memsse.New()
	hub, err := sse.New(store, broker, sse.Config{Retry: time.Second, Spread: time.Millisecond})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- hub.Run(ctx) }()
	if err := hub.Ready(ctx); err != nil {
		panic(err)
	}

	// Stored events come first, and then live ones.
	inbox := func(_ context.Context, since sse.Cursors) (sse.Missed, error) {
		if since["notification"] == "1" {
			return sse.Missed{}, nil
		}
		return sse.Missed{Events: []sse.Event{{Name: "notification", ID: "1", Data: []byte(`{"id":"1","message":"bob follows you"}`)}}}, nil
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The member is the signed-in user, and the token is of the tab.
		_ = hub.Serve(w, r, sse.Stream{Member: "ann", Token: "tab-1", Rooms: []string{"show-1"}, Replay: inbox})
	}))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		panic(err)
	}
	if err := hub.ToRoom(ctx, "show-1", sse.Event{Name: "chat", ID: "7", Data: []byte(`{"message":"hi"}`)}); err != nil {
		panic(err)
	}
	fmt.Println(response.Header.Get("Content-Type"))
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "chat=7") {
		fmt.Println(lines.Text())
	}
	fmt.Println(lines.Text())

	cancel() // sends the clients away
	if err := <-done; err != nil {
		panic(err)
	}
	if err := response.Body.Close(); err != nil {
		panic(err)
	}
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// text/event-stream
	// retry: 1000
	//
	// event: notification
	// data: {"id":"1","message":"bob follows you"}
	// id: 1
	//
	// event: chat
	// data: {"message":"hi"}
	// id: 1;chat=7
}
