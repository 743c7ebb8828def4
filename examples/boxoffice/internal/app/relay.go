package app

import (
	"fmt"
	"time"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox"
)

// leaseTTL is how long a killed process keeps the outbox, and its partitions of a transport
// in a file, from the next one. On a server they are kept as long as the transports do by
// default, 10 s: there are dozens of them, in several processes, and on a busy MySQL leases
// of 3 s ran out.
const leaseTTL = 3 * time.Second

// newRelay publishes the outbox on the transport.
func newRelay(b *base, hooks outbox.Hooks) (*outbox.Relay, error) {
	transport := b.bus.Publisher()
	if b.opt.WrapRelay != nil {
		var err error
		if transport, err = b.opt.WrapRelay(transport); err != nil {
			return nil, err
		}
	}
	c := outbox.RelayConfig{
		Ordering: outbox.ByKey, ShutdownTimeout: b.opt.Drain, Logger: b.log, LeaseTTL: leaseTTL, Holder: b.holder,
		Classifiers: []fault.Classifier{b.store.Classify},
		Hooks:       hooks,

		TracerProvider: b.tracing, System: b.bus.System(),
	}
	switch b.bus.Name() {
	case "sqlite", "postgres", "mysql":
		// Each call is a transaction of its own there: few large ones are cheaper.
		c.Lanes, c.Chunk = 1, 500
	}
	return outbox.NewRelay(b.events, transport, c)
}

// route names the topic of each event.
func route(e event.Event) (string, error) {
	switch e.AggregateType {
	case "payment":
		return events.Payments, nil
	case "reservation":
		return events.Reservations, nil
	case "transfer":
		return events.Transfers, nil
	case "membership":
		return events.Memberships, nil
	case "like":
		return events.Likes, nil
	case "order":
		return events.Orders, nil
	case "product":
		return events.Products, nil
	case "stock":
		return events.Stock, nil
	case "chat", "comment", "notice": // keyed by the room, the show, the member
		return events.Domain, nil
	}
	return "", fmt.Errorf("app: no topic for a %s about %q", e.Type, e.AggregateType)
}
