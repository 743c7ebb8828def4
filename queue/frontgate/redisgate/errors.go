package redisgate

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
)

// failed wraps an error of Redis with its class.
func failed(what string, err error) error {
	err = fmt.Errorf("redisgate: %s: %w", what, err)
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fault.Mark(err, redisdb.Classify)
}
