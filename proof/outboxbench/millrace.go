package outboxbench

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/mysqloutbox"
	"github.com/millrace-go/millrace/outbox/pgoutbox"
	"github.com/millrace-go/millrace/proof/backlog"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/sqltx"
)

// millrace is our cursor outbox.
type millrace struct {
	db    place.Place
	title string
	store func(*sql.DB) (driver.SQLStore, error)
}

func millraceOnPostgres(db place.Place) system {
	return millrace{db, "millrace pgoutbox (defaults)", func(db *sql.DB) (driver.SQLStore, error) {
		return pgoutbox.New(db, pgoutbox.Config{})
	}}
}

func millraceOnMariaDB(db place.Place) system {
	return millrace{db, "millrace mysqloutbox (defaults)", func(db *sql.DB) (driver.SQLStore, error) {
		return mysqloutbox.New(db, mysqloutbox.Config{})
	}}
}

func (m millrace) name() string    { return m.title }
func (m millrace) at() place.Place { return m.db }

func (m millrace) open() (*sql.DB, driver.SQLStore, error) {
	db, err := m.db.Open()
	if err != nil {
		return nil, nil, err
	}
	s, err := m.store(db)
	return db, s, err
}

// manyKeys is how many aggregates events are spread over.
const manyKeys = 1000

func (m millrace) fill(ctx context.Context, n int, payload []byte) error {
	if err := m.db.Recreate(ctx); err != nil {
		return err
	}
	db, store, err := m.open()
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // measured work is done
	return backlog.Fill(ctx, db, store, n, manyKeys, backlog.Text(len(payload)))
}

func (m millrace) relay(ctx context.Context, sink Sink) error {
	db, store, err := m.open()
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the relay has stopped
	relay, err := outbox.NewRelay(store, counter{sink}, outbox.RelayConfig{})
	if err != nil {
		return err
	}
	return relay.Run(ctx)
}

func (m millrace) appender(ctx context.Context) (func([]byte) (string, error), func(), error) {
	db, store, err := m.open()
	if err != nil {
		return nil, nil, err
	}
	box, err := outbox.New(store, outbox.Config{Topic: "payment.events"})
	if err != nil {
		return nil, nil, err
	}
	n := 0
	appendOne := func(payload []byte) (string, error) {
		n++
		e, err := backlog.Event(n, manyKeys, backlog.Text(len(payload))(n))
		if err != nil {
			return "", err
		}
		return e.ID, sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
			return box.Append(ctx, tx, e)
		})
	}
	return appendOne, func() { db.Close() }, nil
}
