package app

import (
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/heldseats"
)

// buildHeldSeats makes the copy of the held seats, if there is a Redis. It connects to
// nothing: bookings go on without.
func (a *App) buildHeldSeats(opened *closers) error {
	if a.cfg.RedisURL == config.NoRedis || !a.cfg.Has(config.RoleAPI) && !a.cfg.Has(config.RoleWorker) {
		return nil
	}
	to, err := a.heldSeatsStore(opened)
	if err != nil {
		return err
	}
	a.held, err = heldseats.New(a.store, to, heldseats.Config{
		TTL: a.cfg.Hold + a.cfg.PaymentLimit + time.Minute, Holder: a.holder, Timeout: redisTimeout, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.catalog.SetMirror(a.held)
	return nil
}

func (a *App) heldSeatsStore(opened *closers) (heldseats.Store, error) {
	if a.cfg.RedisURL == config.EmbeddedRedis {
		return heldseats.NewMemory(), nil
	}
	client, err := a.openRedis(opened)
	if err != nil {
		return nil, err
	}
	return heldseats.NewRedis(client, a.cfg.RedisPrefix)
}

// startHeldSeats starts the writer of the copy. Seats are moved after its start and
// before its end only.
func (a *App) startHeldSeats(run *stages) {
	if a.held == nil {
		return
	}
	run.start("held seats", a.held.Run)
	if a.cfg.Has(config.RoleWorker) {
		run.start("sweep of the held seats", a.held.Sweep)
	}
}
