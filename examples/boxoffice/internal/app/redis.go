package app

import (
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/meter"
	ratelimitdriver "github.com/millrace-go/millrace/ratelimit/driver"
	"github.com/millrace-go/millrace/ratelimit/memratelimit"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

// shared is the state that processes share beside the database and the transport, for the artists: in
// Redis, or in this process when it is the only one.
type shared struct {
	locks   driver.Store
	permits ratelimitdriver.Store
	calls   meter.Store
}

// openShared connects to nothing: an outage of Redis delays neither the start of a
// process nor the answer to a read.
func openShared(b *base) (s shared, err error) {
	if b.cfg.RedisURL == config.EmbeddedRedis {
		return shared{locks: memcoalesce.New(), permits: memratelimit.New(), calls: meter.NewMemory()}, nil
	}
	// The limiter's calls are late after milliseconds, so they have connections of their
	// own and wait for no other calls.
	own, err := b.redis()
	if err != nil {
		return s, err
	}
	others, err := b.redis()
	if err != nil {
		return s, err
	}
	if s.permits, err = redisratelimit.New(own, redisratelimit.Config{Name: b.cfg.RedisPrefix + "rate"}); err != nil {
		return s, err
	}
	if s.locks, err = rediscoalesce.New(others, rediscoalesce.Config{Prefix: b.cfg.RedisPrefix + "upd:"}); err != nil {
		return s, err
	}
	s.calls, err = meter.NewRedis(others, meter.RedisConfig{Name: b.cfg.RedisPrefix + "calls"})
	return s, err
}
