package boxtest

import (
	"context"
	"testing"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/outbox/sqliteoutbox"
)

// EventStore is the real outbox of a box office.
type EventStore interface {
	driver.Store
	driver.Inspector
	Migrate(ctx context.Context) error
}

// Events is the outbox in the database of s, with its tables.
func Events(t testing.TB, s *store.Store) EventStore {
	t.Helper()
	var o EventStore
	var err error
	switch s.Dialect() {
	case "postgres":
		o, err = pgoutbox.New(s.DB(), pgoutbox.Config{})
	case "mysql":
		o, err = mysqloutbox.New(s.DB(), mysqloutbox.Config{})
	default:
		o, err = sqliteoutbox.New(s.DB(), sqliteoutbox.Config{Reader: s.Reader()})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}
