package app

import (
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/heldseats"
)

// newHeldSeats makes the copy of the held seats, if there is a Redis. It connects to
// nothing: bookings go on without.
func newHeldSeats(b *base) (*heldseats.Mirror, error) {
	if b.cfg.RedisURL == config.NoRedis || !b.cfg.Has(config.RoleAPI) && !b.cfg.Has(config.RoleWorker) {
		return nil, nil
	}
	to, err := heldSeatsStore(b)
	if err != nil {
		return nil, err
	}
	return heldseats.New(b.store, to, heldseats.Config{
		TTL: b.cfg.Hold + b.cfg.PaymentLimit + time.Minute, Holder: b.holder, Timeout: redisTimeout, Logger: b.log,
	})
}

func heldSeatsStore(b *base) (heldseats.Store, error) {
	if b.cfg.RedisURL == config.EmbeddedRedis {
		return heldseats.NewMemory(), nil
	}
	client, err := b.redis()
	if err != nil {
		return nil, err
	}
	return heldseats.NewRedis(client, b.cfg.RedisPrefix)
}
