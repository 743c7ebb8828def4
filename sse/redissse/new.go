package redissse

import (
	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/sse/driver"
)

// New makes a cap and a broker on a client, which the caller has to close. It refuses a
// client that ignores contexts (a server that hangs would hold callers beyond their
// deadline) or retries calls (an eviction that is carried out twice loses its first
// answer, and a message is heard twice):
//
//	redis.NewUniversalClient(&redis.UniversalOptions{
//		Addrs: …, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
//	})
func New(client redis.UniversalClient, cfg Config) (driver.Cap, driver.Broker, error) {
	if err := checkClient(client); err != nil {
		return nil, nil, err
	}
	if err := cfg.validate(); err != nil {
		return nil, nil, err
	}
	return newCap(client, cfg), newBroker(client, cfg), nil
}
