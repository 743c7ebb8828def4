package pgoutbox_test

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

// TestStatusStress is TestStress on the status store. Its control is TestStress:
// the naive reader loses events of the same writers there.
func TestStatusStress(t *testing.T) {
	store, db := openStatus(t, pgoutbox.Config{Shards: 2})
	db.SetMaxOpenConns(24)
	outboxtest.RunStress(t, outboxtest.StressConfig{
		Store: store, DB: db, Unrelated: db, Duration: 3 * time.Second, UnrelatedFor: 2500 * time.Millisecond,
	})
}
