package outboxbench

import (
	"context"
	stdsql "database/sql"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/proof/place"
)

// watermillSQL is watermill-sql v3 with Watermill's forwarder, tuned: 1000 rows
// a query and a poll every 10 ms.
type watermillSQL struct {
	db      place.Place
	schema  wsql.SchemaAdapter
	offsets wsql.OffsetsAdapter
}

func watermillOnPostgres(db place.Place) system {
	return watermillSQL{db, wsql.DefaultPostgreSQLSchema{
		SubscribeBatchSize:  1000,
		GeneratePayloadType: func(string) string { return "BYTEA" },
	}, wsql.DefaultPostgreSQLOffsetsAdapter{}}
}

func watermillOnMariaDB(db place.Place) system {
	return watermillSQL{db, place.NewWatermillMySQL(), wsql.DefaultMySQLOffsetsAdapter{}}
}

func (watermillSQL) name() string      { return "watermill-sql v3.1.0 + forwarder (batch 1000, poll 10 ms)" }
func (w watermillSQL) at() place.Place { return w.db }

const watermillTopic = "outbox"

// publish writes events through the forwarder's envelope in x.
func (w watermillSQL) publish(x wsql.ContextExecutor, messages ...*message.Message) error {
	p, err := wsql.NewPublisher(x, wsql.PublisherConfig{SchemaAdapter: w.schema}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	return forwarder.NewPublisher(p, forwarder.PublisherConfig{ForwarderTopic: watermillTopic}).Publish("payment.events", messages...)
}

func (w watermillSQL) fill(ctx context.Context, n int, payload []byte) error {
	db, err := w.db.Fresh(ctx)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // measured work is done
	sub, err := w.subscriber(db)
	if err != nil {
		return err
	}
	defer sub.Close() //nolint:errcheck // only its schema was wanted
	if err := sub.SubscribeInitialize(watermillTopic); err != nil {
		return err
	}
	for done := 0; done < n; {
		batch := make([]*message.Message, min(1000, n-done))
		for i := range batch {
			batch[i] = message.NewMessage(watermill.NewUUID(), payload)
		}
		if err := w.publish(db, batch...); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		done += len(batch)
	}
	return nil
}

func (w watermillSQL) subscriber(db *stdsql.DB) (*wsql.Subscriber, error) {
	return wsql.NewSubscriber(db, wsql.SubscriberConfig{
		PollInterval:     10 * time.Millisecond,
		SchemaAdapter:    w.schema,
		OffsetsAdapter:   w.offsets,
		InitializeSchema: true,
	}, watermill.NopLogger{})
}

func (w watermillSQL) relay(ctx context.Context, sink Sink) error {
	db, err := w.db.Open()
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the forwarder has stopped
	sub, err := w.subscriber(db)
	if err != nil {
		return err
	}
	f, err := forwarder.NewForwarder(sub, counter{sink}, watermill.NopLogger{}, forwarder.Config{
		ForwarderTopic: watermillTopic, CloseTimeout: 5 * time.Second,
	})
	if err != nil {
		return err
	}
	return f.Run(ctx)
}

func (w watermillSQL) appender(ctx context.Context) (func([]byte) (string, error), func(), error) {
	db, err := w.db.Open()
	if err != nil {
		return nil, nil, err
	}
	return func(payload []byte) (string, error) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return "", err
		}
		defer tx.Rollback() //nolint:errcheck // no-op after the commit
		id := watermill.NewUUID()
		if err := w.publish(tx, message.NewMessage(id, payload)); err != nil {
			return "", err
		}
		return id, tx.Commit()
	}, func() { db.Close() }, nil
}
