package redisidempotency

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
)

// failed wraps an error of a command. Without an answer the state of the key is unknown, so no
// handler may run, and the consumer pauses until Redis is back.
func failed(what, key string, err error) error {
	if !errors.Is(err, context.Canceled) && redisdb.Classify(err) == fault.Infrastructure {
		err = fault.MarkInfrastructure(err)
	}
	return fmt.Errorf("redisidempotency: %s %q: %w", what, key, err)
}
