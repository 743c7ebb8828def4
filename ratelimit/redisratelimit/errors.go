package redisratelimit

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
)

// failed wraps an error of a script. It is unknown whether the calls were charged.
func failed(what, name string, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
	case redisdb.Forbidden(err):
		// A rule of the server, such as NOPERM: a retry cannot help.
		err = fmt.Errorf("the Redis user may not run what the script needs; allow it +evalsha +eval +info +time +mget +get +set +getrange +setrange +pexpire on the keys {%s}:*: %w", name, err)
		err = fault.MarkInfrastructure(err)
	case redisdb.Classify(err) == fault.Infrastructure:
		err = fault.MarkInfrastructure(err)
	}
	return fmt.Errorf("redisratelimit: %s %q: %w", what, name, err)
}
