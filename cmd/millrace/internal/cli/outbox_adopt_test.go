package cli_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// A database whose positions name another system, as after pg_upgrade: relays are refused,
// the error names adopt, and after adopt they publish the backlog, once.
func TestOutboxAdopt(t *testing.T) {
	p := place{name: "postgres", url: servicetest.PostgresURL(t)}
	db := p.open(t)
	elsewhere := map[string]string{
		"cursor": `UPDATE outbox_cursors SET system_id = 1`,
		"status": `UPDATE outbox_event_progress SET position = regexp_replace(position, '^[0-9]+', '1') WHERE position <> ''`,
	}
	stores, published := map[string]box{}, map[string]*outboxtest.Publisher{}
	relay := func(kind string, until int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		r, err := outbox.NewRelay(stores[kind], published[kind], outbox.RelayConfig{Interval: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() {
			defer cancel()
			ended <- r.Run(ctx)
		}()
		waited := published[kind].WaitFor(ctx, until)
		cancel()
		if err := <-ended; err != nil {
			return err
		}
		return waited
	}
	for kind, move := range elsewhere {
		b := p.store(t, db, kind)
		if _, ok := b.(driver.Adopter); !ok {
			servicetest.Missing(t, "the store of kind "+kind+" has no Adopt")
		}
		stores[kind], published[kind] = b, &outboxtest.Publisher{}
		appendTo(t, db, b, "orders", 6)
		require.NoError(t, relay(kind, 6))
		appendTo(t, db, b, "more", 4)
		_, err := db.Exec(move)
		require.NoError(t, err)
		if err := relay(kind, 7); !errors.Is(err, driver.ErrForeignDatabase) || !strings.Contains(err.Error(), "millrace outbox adopt") {
			t.Errorf("%s: on another system the relay ended with %v", kind, err)
		}
	}
	tool(t, "outbox", "adopt", "--db", p.url).want(t, 2, "--yes")
	for kind := range elsewhere {
		assert.ErrorIsf(t, relay(kind, 7), driver.ErrForeignDatabase, "%s: without an answer adopt has changed something", kind)
	}
	got := tool(t, "outbox", "adopt", "--yes", "--db", p.url).want(t, 0)
	for kind := range elsewhere {
		assert.Containsf(t, got.out, "outbox ("+kind+"): adopted", "of %s it says %s", kind, got.out)
		if err := relay(kind, 10); err != nil {
			t.Errorf("%s: after adopt the relay ended with %v", kind, err)
		}
		if all := published[kind].Published(); len(all) != 10 || outboxtest.Duplicates(all) != 0 {
			t.Errorf("%s: %d were published, %d twice; want 10, once each", kind, len(all), outboxtest.Duplicates(all))
		}
	}
	tool(t, "outbox", "adopt", "--yes", "--db", p.url).want(t, 0)
}
