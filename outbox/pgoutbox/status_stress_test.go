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
	store, db := openStatus(t, pgoutbox.StatusConfig{Shards: 2})
	db.SetMaxOpenConns(24)
	r, err := outboxtest.Stress(t.Context(), outboxtest.StressConfig{
		Store: store, DB: db, Unrelated: db, Duration: 3 * time.Second, UnrelatedFor: 2500 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	if r.Appended < 100 {
		t.Errorf("only %d events were appended", r.Appended)
	}
	if r.Lost+r.Uncommitted+r.Duplicated+r.Inverted != 0 {
		t.Errorf("want nothing lost, uncommitted, duplicated or inverted: %v", r)
	}
	if r.P99 > time.Second {
		t.Errorf("p99 is %v beside a transaction of 2.5s: something waited for it", r.P99)
	}
}
