package redisdb

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// CheckClient refuses a client that would wait beyond the deadline of a context, or
// repeat a call that may have been carried out. Those that this package makes do
// neither. Clients of other types are taken as they are.
func CheckClient(client redis.UniversalClient) error {
	heeds, retries := true, 0
	switch c := client.(type) {
	case *redis.Client:
		heeds, retries = c.Options().ContextTimeoutEnabled, c.Options().MaxRetries
	case *redis.ClusterClient:
		heeds, retries = c.Options().ContextTimeoutEnabled, c.Options().MaxRetries
	}
	switch {
	case !heeds:
		return errors.New("the client does not heed the deadline of a context; make it with ContextTimeoutEnabled: true")
	case retries > 0:
		return fmt.Errorf("the client repeats a call %d times, although it may have been carried out; make it with MaxRetries: -1", retries)
	}
	return nil
}
