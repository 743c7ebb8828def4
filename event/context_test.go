package event_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/millrace-go/millrace/event"
)

func ExampleWithCorrelation() {
	ctx := event.WithCorrelation(context.Background(), "request-7") // when the request arrives
	placed := event.Event{ID: "e-1", Type: "OrderPlaced"}.In(ctx)   // an outbox does this
	ctx = event.NewContext(context.Background(), placed)            // a consumer does this
	packed := event.Event{ID: "e-2", Type: "OrderPacked"}.In(ctx)
	fmt.Println(placed.CorrelationID, packed.CorrelationID, packed.CausationID)
	// Output: request-7 request-7 e-1
}

func TestIn(t *testing.T) {
	bare := t.Context()
	request := event.WithCorrelation(bare, "r-1")
	for name, c := range map[string]struct {
		ctx                context.Context
		made               event.Event
		correlation, cause string
	}{
		"nothing known":                 {bare, event.Event{}, "", ""},
		"in a request":                  {request, event.Event{}, "r-1", ""},
		"its own correlation":           {request, event.Event{CorrelationID: "own"}, "own", ""},
		"in a handler":                  {event.NewContext(bare, event.Event{ID: "e-1", CorrelationID: "r-0"}), event.Event{}, "r-0", "e-1"},
		"in a handler, the first event": {event.NewContext(bare, event.Event{ID: "e-1"}), event.Event{}, "e-1", "e-1"},
		"in a handler within a request": {event.NewContext(request, event.Event{ID: "e-1", CorrelationID: "r-0"}), event.Event{}, "r-0", "e-1"},
		"an event without an id":        {event.NewContext(request, event.Event{}), event.Event{}, "r-1", ""},
		"a child of another event":      {event.NewContext(bare, event.Event{ID: "e-1"}), event.Event{}.CausedBy(event.Event{ID: "e-9"}), "e-9", "e-9"},
	} {
		got := c.made.In(c.ctx)
		if got.CorrelationID != c.correlation || got.CausationID != c.cause {
			t.Errorf("%s: %q caused by %q", name, got.CorrelationID, got.CausationID)
		}
		if c.made.CorrelationID == "" && event.Correlation(c.ctx) != c.correlation {
			t.Errorf("%s: the context says %q", name, event.Correlation(c.ctx))
		}
	}
}
