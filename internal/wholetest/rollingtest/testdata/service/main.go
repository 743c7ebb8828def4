// Command program is a service with an outbox and a consumer, or a producer of events,
// depending on its flags. It is built with an older release as well.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/mysqlbus"
	"github.com/millrace-go/millrace/bus/pgbus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/sqltx"
)

// step is an event of a key.
type step struct {
	Key string
	N   int
}

var (
	dbURL   = flag.String("db", "", "URL of the outbox's database")
	busURL  = flag.String("bus", "", "URL of the transport")
	topic   = flag.String("topic", "", "topic of the events")
	journal = flag.String("journal", "", "file to which handled events are appended")
	name    = flag.String("name", "", "name in the journal")
	status  = flag.Bool("status", false, "use the outbox with status rows")
	first   = flag.Int("first", 0, "append events from this number of each key on, and end; 0: relay and consume until SIGTERM")
	rounds  = flag.Int("rounds", 0, "how many events of each key to append")
	keys    = flag.Int("keys", 10, "how many keys there are")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	db, s, err := open()
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the process ends
	if err := s.Migrate(ctx); err != nil && *first == 0 {
		return err
	}
	box, err := outbox.New(s, outbox.Config{Topic: *topic})
	if err != nil {
		return err
	}
	if *first > 0 {
		return produce(ctx, db, box)
	}
	return work(ctx, s)
}

// produce appends each key's events in their order, each in a transaction of its own.
func produce(ctx context.Context, db *sql.DB, box *outbox.Outbox) error {
	ended := make(chan error)
	for k := range *keys {
		go func() {
			key := fmt.Sprint("k", k)
			for n := *first; n < *first+*rounds; n++ {
				e, err := event.New("Placed", "shop", step{key, n})
				if err == nil {
					e.AggregateType, e.AggregateID = "order", key
					err = sqltx.Do(ctx, db, func(ctx context.Context, tx *sql.Tx) error { return box.Append(ctx, tx, e) })
				}
				if err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	var errs error
	for range *keys {
		errs = errors.Join(errs, <-ended)
	}
	return errs
}

// openBus opens the transport by its scheme alone, since the releases differ in how they look it up.
func openBus(ctx context.Context) (*bus.Bus, error) {
	u, err := url.Parse(*busURL)
	if err != nil {
		return nil, err
	}
	var s bus.Scheme
	switch u.Scheme {
	case "sqlite":
		s = sqlitebus.Scheme(sqlitebus.Config{})
	case "postgres":
		s = pgbus.Scheme(pgbus.Config{})
	case "mysql":
		s = mysqlbus.Scheme(mysqlbus.Config{})
	case "redis":
		s = redisbus.Scheme(redisbus.Config{})
	case "kafka":
		s = kafkabus.Scheme(kafkabus.Config{})
	case "amqp":
		s = amqpbus.Scheme(amqpbus.Config{})
	default:
		return nil, fmt.Errorf("the transport %s is not known here", u.Scheme)
	}
	d, err := s.Open(ctx, u)
	if err != nil {
		return nil, err
	}
	return bus.New(u.Scheme, d), nil
}

// work relays and consumes until ctx ends.
func work(ctx context.Context, s store) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	b, err := openBus(ctx)
	if err != nil {
		return err
	}
	if err := b.Declare(ctx, bus.Topic{Name: *topic, Partitions: 3, Groups: []string{*topic + "-group"}}); err != nil {
		return err
	}
	relay, err := outbox.NewRelay(s, b.Publisher(), outbox.RelayConfig{Logger: log})
	if err != nil {
		return err
	}
	r, err := bus.NewRunner(b, bus.RunnerConfig{Logger: log})
	if err != nil {
		return err
	}
	if err := r.Add(bus.Consumer{Topic: *topic, Group: *topic + "-group", Handler: bus.Handle(note)}); err != nil {
		return err
	}
	relayed := make(chan error, 1)
	go func() { relayed <- relay.Run(ctx) }()
	return errors.Join(r.Run(ctx), <-relayed, b.Close())
}

// note appends an event to the journal.
func note(_ context.Context, e event.Event) error {
	var s step
	if err := e.UnmarshalData(&s); err != nil {
		return err
	}
	time.Sleep(2 * time.Millisecond) // so that a stop finds messages at work
	f, err := os.OpenFile(*journal, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, s.Key, s.N, *name)
	return errors.Join(err, f.Close())
}
