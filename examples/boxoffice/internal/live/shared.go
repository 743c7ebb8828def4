package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/memsse"
	"github.com/millrace-go/millrace/sse/redissse"
)

// Spent knows which tickets were used.
type Spent interface {
	// Spend records for a while that a ticket was used, and reports whether it is the
	// first use: of many concurrent calls one is.
	Spend(ctx context.Context, id string, keep time.Duration) (first bool, err error)
}

// Shared is the state that all processes of a box office share. All of it is
// required.
type Shared struct {
	Cap    driver.Cap
	Broker driver.Broker
	Spent  Spent
}

func (s Shared) validate() error {
	if s.Cap == nil || s.Broker == nil || s.Spent == nil {
		return errors.New("live: Shared is not complete; make it with Memory or Redis")
	}
	return nil
}

// Memory is for one process.
func Memory() (Shared, error) {
	streams, broker := memsse.New()
	return Shared{streams, broker, &memory{used: map[string]bool{}}}, nil
}

// Redis is for all processes with one prefix on one Redis. The caller closes the
// client.
func Redis(client redis.UniversalClient, prefix string) (Shared, error) {
	streams, broker, err := redissse.New(client, redissse.Config{Prefix: prefix})
	return Shared{streams, broker, onRedis{client, prefix}}, err
}

type onRedis struct {
	client redis.UniversalClient
	prefix string
}

// Spend implements [Spent].
func (s onRedis) Spend(ctx context.Context, id string, keep time.Duration) (bool, error) {
	return s.client.SetNX(ctx, s.prefix+"sse:ticket:{"+id+"}", 1, keep).Result()
}

type memory struct {
	mu   sync.Mutex
	used map[string]bool
	ends []note // in the order of their ends
}

type note struct {
	id string
	at time.Time
}

// Spend implements [Spent]. All notes are kept for as long.
func (m *memory) Spend(_ context.Context, id string, keep time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for len(m.ends) > 0 && m.ends[0].at.Before(now) {
		delete(m.used, m.ends[0].id)
		m.ends = m.ends[1:]
	}
	if m.used[id] {
		return false, nil
	}
	m.used[id] = true
	m.ends = append(m.ends, note{id, now.Add(keep)})
	return true, nil
}
