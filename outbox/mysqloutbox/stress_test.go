package mysqloutbox_test

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/outboxtest"
)

// TestStress is a short run of the out-of-order stress, with the naive reader
// as a control that must lose events.
func TestStress(t *testing.T) {
	store, db := open(t, mysqloutbox.Config{Shards: 2})
	db.SetMaxOpenConns(24)
	r, err := outboxtest.Stress(t.Context(), outboxtest.StressConfig{
		Store: store, DB: db, Unrelated: db, Duration: 3 * time.Second, UnrelatedFor: 2500 * time.Millisecond, Naive: true,
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
	if r.NaiveLost == 0 {
		t.Error("the naive reader lost nothing: the run proves nothing")
	}
}
