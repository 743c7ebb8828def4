package app

import (
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog/rediscopy"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/heldseats"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/stats"
	tickets "github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
)

// sales are the shows with their seats, the reservations, the payments and the tickets.
type sales struct {
	catalog  *catalog.Catalog
	held     *heldseats.Mirror // nil without Redis
	booking  *booking.Booking
	payments *payment.Payments
	charger  *payment.Gateway
	executor *payment.Executor
	door     *tickets.Door
	stats    *stats.Stats
}

// newSales makes them. gateway is where cards are charged.
func newSales(b *base, gateway string) (s *sales, err error) {
	s = &sales{charger: payment.NewGateway(gateway, b.opt.GatewayTimeout, 128)}
	b.opened.add(func() error { s.charger.Close(); return nil })
	if s.catalog, err = catalog.New(b.store, b.outbox); err != nil {
		return nil, err
	}
	if s.held, err = newHeldSeats(b); err != nil {
		return nil, err
	}
	if s.held != nil {
		s.catalog.SetMirror(s.held)
	}
	if err := shareShows(b, s.catalog); err != nil {
		return nil, err
	}
	if s.payments, err = payment.New(b.store, b.outbox); err != nil {
		return nil, err
	}
	if s.booking, err = booking.New(b.store, s.catalog, b.outbox, s.payments, booking.Config{
		Hold: b.cfg.Hold, PaymentLimit: b.cfg.PaymentLimit, Holder: b.holder, Logger: b.log,
	}); err != nil {
		return nil, err
	}
	s.payments.SetReservations(s.booking)
	keys, err := tickets.ParseKeys(b.cfg.TicketKeys)
	if err != nil {
		return nil, err
	}
	if s.door, err = tickets.New(b.store, keys); err != nil {
		return nil, err
	}
	if s.stats, err = stats.New(b.store); err != nil {
		return nil, err
	}
	s.executor, err = payment.NewExecutor(s.payments, s.charger, payment.ExecutorConfig{
		Holder: b.holder, Sole: b.sole, Drain: b.opt.Drain, Logger: b.log,
	})
	return s, err
}

// shareShows makes the processes share their reads of the shows, if there is a Redis.
func shareShows(b *base, shows *catalog.Catalog) error {
	if b.cfg.RoomInMemory() {
		return nil
	}
	client, err := b.redis()
	if err != nil {
		return err
	}
	shows.SetCopies(rediscopy.New(client, b.cfg.RedisPrefix), b.log)
	return nil
}
