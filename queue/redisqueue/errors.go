package redisqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
)

// failed wraps an error of Redis. Whether the call was carried out is unknown.
func (s *store) failed(what, event string, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
	case redisdb.Forbidden(err):
		// A rule of the server, as NOPERM is: a retry cannot help.
		err = fmt.Errorf("the Redis user may not run what the scripts need; allow it +evalsha +eval +time +info +@string +@bitmap +@hash +@sortedset +exists +unlink +pexpire +persist on the keys %s{*}:*, and +sadd +srem +smembers on %s: %w", s.prefix, s.registry, err)
		err = fault.MarkInfrastructure(err)
	case redisdb.Classify(err) == fault.Infrastructure:
		err = fault.MarkInfrastructure(err)
	}
	return wrap(what, event, err)
}

func wrap(what, event string, err error) error {
	return fmt.Errorf("redisqueue: %s %q: %w", what, event, err)
}
