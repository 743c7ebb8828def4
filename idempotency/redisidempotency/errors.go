package redisidempotency

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/idempotency/driver"
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

// held returns the error of a command that only the holder of a key may send.
func held(what, key string, ours bool, err error) error {
	if err != nil {
		return failed(what, key, err)
	}
	if !ours {
		return fmt.Errorf("redisidempotency: %s %q: %w", what, key, driver.ErrLeaseLost)
	}
	return nil
}
