package queuebench

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/frontgate/redisgate"
)

// behindGate gives positions out to all people, and returns the bytes of Redis for
// each of them.
func behindGate(ctx context.Context, s *redisserver.Server, cfg Config) (bytes float64, err error) {
	client, err := redisdb.Open(s.URL, redisdb.Config{PoolSize: 1})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	store, err := redisgate.New(client, redisgate.Config{Prefix: place.RoomPrefix(cfg.Event)})
	if err != nil {
		return 0, err
	}
	before, err := s.Used(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := store.Switch(ctx, cfg.Event, true); err != nil {
		return 0, err
	}
	var state driver.State
	for left := cfg.People; left > 0; left -= driver.MaxAssign {
		if state, err = store.Assign(ctx, cfg.Event, min(left, driver.MaxAssign)); err != nil {
			return 0, err
		}
	}
	if state.Assigned != int64(cfg.People) {
		return 0, fmt.Errorf("%d positions were given out to %d people", state.Assigned, cfg.People)
	}
	after, err := s.Used(ctx)
	return float64(after.Memory-before.Memory) / float64(cfg.People), err
}
