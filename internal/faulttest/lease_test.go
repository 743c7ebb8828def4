package faulttest

import (
	"errors"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sqllog"
	"github.com/millrace-go/millrace/internal/sqllog/pglog"
)

// A position that was read and not yet kept may name transactions as done that a
// crash undoes, whose ids PostgreSQL then gives to others: whoever has one has to
// begin again from what was kept, though no statement of theirs failed.
func TestPositionsEndWithTheServer(t *testing.T) {
	db := servicetest.Postgres(t)
	log, err := pglog.New(db, sqllog.Tables{Package: "faulttest", Messages: "log_messages", Cursors: "log_cursors"})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := log.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	cursor := sqllog.Cursor{Consumer: "c"}
	lease, err := log.Lease(t.Context(), cursor, "me", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Renew(t.Context(), lease, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := log.Advance(t.Context(), lease, lease.Position, time.Hour, nil); err != nil {
		t.Fatal(err)
	}
	restart(t, "postgres", hostOf(t, servicetest.PostgresURL(t)))
	for what, do := range map[string]func() error{
		"advanced": func() error { return log.Advance(t.Context(), lease, lease.Position, time.Hour, nil) },
		"renewed":  func() error { return log.Renew(t.Context(), lease, time.Hour) },
	} {
		err := do()
		for range 10 { // connections of the pool that are dead
			if err == nil || errors.Is(err, sqllog.ErrLeaseLost) {
				break
			}
			err = do()
		}
		if !errors.Is(err, sqllog.ErrLeaseLost) {
			t.Errorf("a lease from before the crash is %s: %v", what, err)
		}
	}
	if lease, err = log.Lease(t.Context(), cursor, "me", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := log.Advance(t.Context(), lease, lease.Position, time.Hour, nil); err != nil {
		t.Errorf("a lease from after it: %v", err)
	}
}
