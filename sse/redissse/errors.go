package redissse

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
)

func bad(what, format string, args ...any) error {
	return fmt.Errorf("redissse: %s: %w", what, fault.MarkPermanent(fmt.Errorf(format, args...)))
}

// failed wraps an error of Redis. Whether the call was carried out is unknown.
func failed(what, allow string, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
	case redisdb.Forbidden(err):
		// A rule of the server, as NOPERM is: a retry cannot help.
		err = fault.MarkInfrastructure(fmt.Errorf("the Redis user may not do what is needed; allow it %s: %w", allow, err))
	case redisdb.Classify(err) == fault.Infrastructure:
		err = fault.MarkInfrastructure(err)
	}
	return fmt.Errorf("redissse: %s: %w", what, err)
}
