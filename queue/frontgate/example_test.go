package frontgate_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/memgate"
	"github.com/millrace-go/millrace/queue/token"
)

// exampleGate is a gate in memory. In production use a secret of 32 random bytes
// and a store that the processes share.
func exampleGate() (*frontgate.Gate, error) {
	store, err := memgate.New(memgate.Config{})
	if err != nil {
		return nil, err
	}
	ring, err := token.NewRing("an example of a secret that is long enough")
	if err != nil {
		return nil, err
	}
	return frontgate.New(store, ring, frontgate.Config{Step: 2})
}

func ExampleNew() {
	gate, err := exampleGate()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if _, err := gate.Activate(ctx, "show-1"); err != nil {
		fmt.Println(err)
		return
	}
	var places []frontgate.Place
	for range 3 {
		place, err := gate.Assign(ctx, "show-1", "")
		if err != nil {
			fmt.Println(err)
			return
		}
		places = append(places, place)
	}
	if _, err := gate.Advance(ctx, "show-1", 0); err != nil { // Run does so every 10 s
		fmt.Println(err)
		return
	}
	for _, place := range places {
		turn, err := gate.Check(ctx, "show-1", place.RequestID, "")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("position", turn.Position, "admitted:", turn.Admitted, "wait about", turn.Wait)
	}
	// Output:
	// position 1 admitted: true wait about 0s
	// position 2 admitted: true wait about 0s
	// position 3 admitted: false wait about 10s
}

func ExampleNewHandlers() {
	gate, err := exampleGate()
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := frontgate.NewHandlers(gate, frontgate.HTTPConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	h.Mount(mux.Handle, "/vwr")
	mux.HandleFunc("GET /enter/{eventId}", h.Guard)

	visit := func() {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest("GET", "/enter/show-1", nil))
		fmt.Println(answer.Code, answer.Header().Get("Location"))
	}
	visit()
	if _, err := gate.Activate(context.Background(), "show-1"); err != nil {
		fmt.Println(err)
		return
	}
	visit()
	// Output:
	// 302 /queue/show-1
	// 302 /vwr/show-1
}
