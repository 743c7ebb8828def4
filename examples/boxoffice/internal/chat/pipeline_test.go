package chat_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/amqpbus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/sqlidempotency"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/sqltx"
)

// transports of the queues. The embedded one needs no server, and has no URL.
var transports = []struct {
	name string
	url  func(t *testing.T) string
}{
	{"embedded", func(*testing.T) string { return "" }},
	{"Kafka", func(t *testing.T) string { onceOnly(t); return "kafka://" + servicetest.Kafka(t) + "/" }},
	{"AMQP", func(t *testing.T) string { onceOnly(t); return servicetest.RabbitMQ(t) }},
}

// onceOnly skips tests of a broker on other databases: a broker does not depend on
// them.
func onceOnly(t *testing.T) {
	t.Helper()
	if os.Getenv("BOXOFFICE_TEST_DB") != "" {
		t.Skip("n/a: a broker is the same beside every database")
	}
}

// pipeline is the path from sender to reader: outbox, relay, transport, and the two
// workers, guarded as the box office guards its consumers.
type pipeline struct {
	*testing.T
	house   *house
	ledger  *ledger
	bus     *bus.Bus
	doubled atomic.Int64
	// spoil may make a worker fail, given its group and after its work.
	spoil atomic.Pointer[func(group string, e event.Event) error]
	// letters is the dead letter topic of a group.
	letters func(group string) string
}

// newPipeline runs until the test ends. Topics and groups have names of their own:
// the servers are shared.
func newPipeline(t *testing.T, url string, twice bool) *pipeline {
	t.Helper()
	box := boxtest.New(t)
	p := &pipeline{T: t}
	prefix := "t-" + strings.ToLower(rand.Text()[:10]) + "-"
	log := slog.New(slog.DiscardHandler)
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	events := boxtest.Events(t, box.Store)
	out, err := outbox.New(events, outbox.Config{Logger: log, Route: func(event.Event) (string, error) { return prefix + "domain_events", nil }})
	must(err)
	t.Cleanup(func() { must(out.Close(context.Background())) })
	p.ledger = &ledger{outbox: out, appended: map[string][]string{}, committed: map[string]bool{}}
	p.house = openOn(t, box, p.ledger, nil, chat.Config{}, nil)

	embedded, lanes := sqlitebus.Config{Logger: log}, outbox.RelayConfig{Logger: log}
	if url == "" {
		url = "sqlite://" + t.TempDir() + "/bus.db"
		// As in the box office: a call is a transaction, and all are in one file.
		lanes.Lanes, lanes.Chunk = 1, 500
		if box.Store.Dialect() == "sqlite" {
			url, embedded.DB, embedded.ReadDB = box.URL, box.Store.DB(), box.Store.Reader()
		}
	}
	p.bus, err = bus.Open(t.Context(), url, amqpbus.Scheme(amqpbus.Config{Logger: log}), sqlitebus.Scheme(embedded), kafkabus.Scheme(kafkabus.Config{Logger: log}))
	must(err)
	t.Cleanup(func() { must(p.bus.Close()) })
	keys, err := sqlidempotency.New(box.Store.DB(), sqlidempotency.Config{Dialect: sqltx.Dialect(box.Store.Dialect())})
	must(err)
	must(keys.Migrate(t.Context()))
	runner, err := bus.NewRunner(p.bus, bus.RunnerConfig{Logger: log})
	must(err)
	p.letters = func(group string) string { return prefix + strings.TrimSuffix(group, "_queue") + "_dlq" }
	topics := []bus.Topic{{Name: prefix + "domain_events", Partitions: 3}}
	for _, c := range p.house.chat.Consumers() {
		guard, err := idempotency.New[*sql.Tx](keys, idempotency.Config{Group: prefix + c.Group})
		must(err)
		handlers := map[string]bus.EventHandler{}
		for typ, handle := range c.Handlers {
			handlers[typ] = p.guarded(box.Store, guard, c.Group, handle)
		}
		topics[0].Groups = append(topics[0].Groups, prefix+c.Group)
		topics = append(topics, bus.Topic{Name: p.letters(c.Group), Partitions: 1, Groups: []string{driver.RedriveGroup}})
		must(runner.Add(bus.Consumer{
			Topic: prefix + "domain_events", Group: prefix + c.Group, Handler: bus.ByType(handlers),
			DeadLetter: p.letters(c.Group), Classifiers: []fault.Classifier{box.Store.Classify},
			Hooks: bus.Hooks{OnDeadLetter: func(bus.Report) { c.GaveUp() }},
		}))
	}
	must(p.bus.Declare(t.Context(), topics...))
	publisher := p.bus.Publisher()
	if twice {
		publisher = &echo{Publisher: publisher, doubled: &p.doubled}
	}
	lanes.Ordering, lanes.Logger, lanes.Classifiers = outbox.ByKey, log, []fault.Classifier{box.Store.Classify}
	relay, err := outbox.NewRelay(events, publisher, lanes)
	must(err)
	p.run(runner.Run)
	p.run(relay.Run)
	return p
}

// run runs a part until the test ends.
func (p *pipeline) run(part func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- part(ctx) }()
	p.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			p.Error(err)
		}
	})
}

func (p *pipeline) guarded(s *store.Store, guard *idempotency.Guard[*sql.Tx], group string, handle store.Handler) bus.EventHandler {
	return func(ctx context.Context, e event.Event) error {
		return s.Write(ctx, func(ctx context.Context, _ *sql.Tx) error {
			_, err := guard.Do(ctx, e, func(ctx context.Context, tx *sql.Tx) error {
				if _, err := handle(ctx, tx, e); err != nil {
					return err
				}
				if spoil := p.spoil.Load(); spoil != nil {
					return (*spoil)(group, e)
				}
				return nil
			})
			return err
		})
	}
}

// echo publishes everything twice.
type echo struct {
	message.Publisher
	doubled *atomic.Int64
}

func (e *echo) Publish(topic string, messages ...*message.Message) error {
	if err := e.Publisher.Publish(topic, messages...); err != nil {
		return err
	}
	again := make([]*message.Message, len(messages))
	for i, m := range messages {
		again[i] = m.Copy()
		again[i].SetContext(m.Context())
	}
	e.doubled.Add(int64(len(again)))
	return e.Publisher.Publish(topic, again...)
}
