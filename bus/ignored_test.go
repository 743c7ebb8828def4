package bus_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
)

// A type without a handler is acknowledged; it is counted, reported, and logged once.
func TestTypesWithoutAHandlerAreIgnored(t *testing.T) {
	never := func(context.Context, event.Event) error { return nil }
	for name, consumer := range map[string]func(bus.Hooks) bus.AnyConsumer{
		"one by one": func(hooks bus.Hooks) bus.AnyConsumer {
			return bus.Consumer{Topic: "t", Group: "g", Hooks: hooks, Handler: bus.ByType(map[string]bus.EventHandler{"SeatHeld": never})}
		},
		"in batches": func(hooks bus.Hooks) bus.AnyConsumer {
			return bus.BatchConsumer{Topic: "t", Group: "g", Hooks: hooks,
				Handler: bus.HandleBatch(func(context.Context, []event.Event) error { return nil }, "SeatHeld")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lines bytes.Buffer
				var mu sync.Mutex
				told := map[string]int{}
				hooks := bus.Hooks{OnIgnored: func(i bus.Report) {
					mu.Lock()
					defer mu.Unlock()
					told[i.Topic+" "+i.Group+" "+i.Type]++
					if e, err := event.Decode(i.Message); err != nil || e.Type != i.Type {
						t.Errorf("told of %s with the message %v, %v", i.Type, e, err)
					}
				}}
				b := memBus(t)
				r := start(t, b, bus.RunnerConfig{Logger: slog.New(slog.NewTextHandler(&lines, nil))}, consumer(hooks))
				for _, typ := range []string{"SeatHold", "SeatHeld", "SeatHold", "SeatSold"} {
					publish(t, b, "t", encoded(t, typ, event.Structured{}))
				}
				time.Sleep(time.Minute)
				r.stop(t)
				if want := map[string]int{"t g SeatHold": 2, "t g SeatSold": 1}; !maps.Equal(told, want) {
					t.Errorf("told %v, want %v", told, want)
				}
				if s := r.Status()[0]; s.Ignored != 3 || s.Handled != 1 || lag(t, b, "t", "g") != 0 {
					t.Errorf("ignored %d, handled %d, %d wait; want 3, 1 and 0", s.Ignored, s.Handled, lag(t, b, "t", "g"))
				}
				for typ, want := range map[string]int{"SeatHold": 1, "SeatSold": 1, "SeatHeld": 0} {
					if got := strings.Count(lines.String(), "type="+typ); got != want {
						t.Errorf("%d lines about %s, want %d:\n%s", got, typ, want, &lines)
					}
				}
			})
		})
	}
}

// A producer that invents types does not fill the memory or the log of a consumer.
func TestIgnoredTypesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		b := memBus(t)
		r := start(t, b, bus.RunnerConfig{Logger: slog.New(slog.NewTextHandler(&lines, nil))},
			bus.Consumer{Topic: "t", Group: "g", Handler: bus.ByType(nil)})
		for i := range 150 {
			publish(t, b, "t", encoded(t, fmt.Sprint("Type", i), event.Structured{}))
		}
		time.Sleep(time.Minute)
		r.stop(t)
		if s, n := r.Status()[0], strings.Count(lines.String(), "type=Type"); s.Ignored != 150 || n != 100 {
			t.Errorf("ignored %d, %d lines; want 150 and 100", s.Ignored, n)
		}
	})
}
