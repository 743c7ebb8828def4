package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
)

// Classify judges Redis errors: unreachable, slow beyond the timeout, loading,
// out of memory or read-only is infrastructure.
func Classify(err error) fault.Class { return redisdb.Classify(err) }

// failed wraps an error of Redis. Whether the call was carried out is unknown.
func (s *Store) failed(what, event string, err error) error {
	var answer redis.Error
	switch {
	case errors.Is(err, context.Canceled):
	case errors.As(err, &answer) && forbidden(answer.Error()):
		// A rule of the server, as NOPERM is: nothing that another try mends.
		err = fmt.Errorf("the Redis user may not run what the scripts need; allow it +evalsha +eval +time +info +@string +@bitmap +@hash +@sortedset +exists +unlink +pexpire +persist on the keys %s{*}:*, and +sadd +srem +smembers on %s: %w", s.prefix, s.registry, err)
		err = fault.MarkInfrastructure(err)
	case Classify(err) == fault.Infrastructure:
		err = fault.MarkInfrastructure(err)
	}
	return wrap(what, event, err)
}

func wrap(what, event string, err error) error {
	return fmt.Errorf("redisqueue: %s %q: %w", what, event, err)
}

// forbidden recognises what servers answer when an ACL stops a script.
func forbidden(text string) bool {
	for _, words := range []string{"NOPERM", "can't run this command", "can't access", "No permissions", "has no permissions"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
