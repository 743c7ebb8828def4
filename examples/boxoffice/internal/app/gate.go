package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/frontgate/dynamogate"
)

// gateByURL keeps the counters of the front gates in the store of BOXOFFICE_GATE_URL.
// It connects to nothing: during an outage of the store the gates answer 503, and all
// else goes on.
func gateByURL(b *base, w *waiting) (driver.Store, error) {
	at, err := dynamogate.ParseURL(b.cfg.GateURL)
	if err != nil {
		return nil, fmt.Errorf("BOXOFFICE_GATE_URL (--gate-url): %w", err)
	}
	counters, err := at.Open(context.Background())
	if err != nil {
		return nil, fmt.Errorf("BOXOFFICE_GATE_URL (--gate-url): %w", err)
	}
	b.opened.add(counters.Close)
	if at.Create {
		w.tables = func(ctx context.Context) error { return makeTables(ctx, b.log, counters.CreateTables) }
	}
	return counters, nil
}

// makeTables makes the tables of the gates, as often as it takes, and ends with ctx.
func makeTables(ctx context.Context, log *slog.Logger, create func(context.Context) error) error {
	pause := kit.Backoff{Max: 30 * time.Second, Jitter: .2}
	for attempt := 1; ; attempt++ {
		err := create(ctx)
		if err == nil || ctx.Err() != nil {
			break
		}
		log.WarnContext(ctx, "BOXOFFICE_GATE_URL (--gate-url): the tables can't be made; it is tried again", "error", err)
		if kit.Sleep(ctx, pause.Delay(attempt)) != nil {
			break
		}
	}
	<-ctx.Done()
	return nil
}
