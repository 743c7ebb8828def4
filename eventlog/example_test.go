package eventlog_test

import (
	"context"
	"log/slog"
	"os"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/eventlog"
)

func ExampleNewHandler() {
	plain := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	log := slog.New(eventlog.NewHandler(slog.NewTextHandler(os.Stdout, plain)))

	// As package bus does before it calls a handler.
	ctx := event.NewContext(context.Background(), event.Event{ID: "e-2", CorrelationID: "e-1", CausationID: "e-1"})

	log.InfoContext(ctx, "seat sold", "seat", "A-1")
	// Output: level=INFO msg="seat sold" seat=A-1 event_id=e-2 correlation_id=e-1
}

func ExampleEvent() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log.Warn("seat is gone", eventlog.Event(event.Event{ID: "e-1"}))
	// Output: level=WARN msg="seat is gone" event_id=e-1 correlation_id=e-1
}
