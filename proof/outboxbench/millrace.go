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
	store func(*sql.DB) (store, error)
}

// store is the interface of the cursor stores of all databases.
type store interface {
	driver.Store
	Migrate(context.Context) error
}

func millraceOnPostgres(db place.Place) millrace {
	return millrace{db, "millrace pgoutbox (defaults)", func(db *sql.DB) (store, error) {
		return pgoutbox.New(db, pgoutbox.Config{})
	}}
}

func millraceOnMariaDB(db place.Place) millrace {
	return millrace{db, "millrace mysqloutbox (defaults)", func(db *sql.DB) (store, error) {
		return mysqloutbox.New(db, mysqloutbox.Config{})
	}}
}

func (m millrace) name() string    { return m.title }
func (m millrace) at() place.Place { return m.db }

func (m millrace) open() (*sql.DB, store, *outbox.Outbox, error) {
	db, err := m.db.Open()
	if err != nil {
		return nil, nil, nil, err
	}
	s, err := m.store(db)
	if err != nil {
		return nil, nil, nil, err
	}
	box, err := outbox.New(s, outbox.Config{Topic: "payment.events"})
	return db, s, box, err
}

// manyKeys is how many aggregates events are spread over.
const manyKeys = 1000

func (m millrace) fill(ctx context.Context, n int, payload []byte) error {
	if err := m.db.Recreate(ctx); err != nil {
		return err
	}
	db, store, box, err := m.open()
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // measured work is done
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	return backlog.Append(ctx, db, box, n, manyKeys, backlog.Text(len(payload)))
}

func (m millrace) relay(ctx context.Context, sink Sink) error {
	db, store, _, err := m.open()
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
	db, _, box, err := m.open()
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
