package redisgate

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
)

// Classify classifies Redis errors: unreachable, slow beyond the timeout, loading,
// out of memory or read-only is infrastructure.
func Classify(err error) fault.Class { return redisdb.Classify(err) }

// failed wraps an error of Redis with its class.
func failed(what string, err error) error {
	err = fmt.Errorf("redisgate: %s: %w", what, err)
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fault.Mark(err, Classify)
}
