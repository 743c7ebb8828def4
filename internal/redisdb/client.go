package redisdb

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// CheckClient refuses a client that would wait beyond the deadline of a context, or repeat a
// call that may have been carried out. The error names every wrong setting, and the right
// values. Clients that this package makes pass. Clients of other types are accepted unchecked.
func CheckClient(client redis.UniversalClient) error {
	heeds, retries := true, 0
	switch c := client.(type) {
	case *redis.Client:
		heeds, retries = c.Options().ContextTimeoutEnabled, c.Options().MaxRetries
	case *redis.ClusterClient:
		heeds, retries = c.Options().ContextTimeoutEnabled, c.Options().MaxRetries
	case *redis.Ring:
		heeds, retries = c.Options().ContextTimeoutEnabled, c.Options().MaxRetries
	}
	var wrong, right []string
	if !heeds {
		wrong = append(wrong, "ContextTimeoutEnabled is false, so a call outlasts the deadline of its context")
		right = append(right, "ContextTimeoutEnabled: true")
	}
	if retries > 0 {
		wrong = append(wrong, fmt.Sprintf("MaxRetries is %d, so a call that may have been carried out is sent again", retries))
		right = append(right, "MaxRetries: -1")
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("the Redis client's options do not fit: %s; make the client by redisclient.Open, or with %s", strings.Join(wrong, "; "), strings.Join(right, ", "))
}
