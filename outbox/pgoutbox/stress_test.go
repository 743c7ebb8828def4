package pgoutbox_test

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/outbox/outboxtest"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
)

// TestStress is a short run of the out-of-order stress, with the naive reader
// as a control that must lose events.
func TestStress(t *testing.T) {
	store, db := open(t, pgoutbox.Config{Shards: 2})
	db.SetMaxOpenConns(24)
	outboxtest.RunStress(t, outboxtest.StressConfig{
		Store: store, DB: db, Unrelated: db, Duration: 3 * time.Second, UnrelatedFor: 2500 * time.Millisecond, Naive: true,
	})
}
