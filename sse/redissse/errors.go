package redissse

import (
	"fmt"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
)

func bad(what, format string, args ...any) error {
	return fmt.Errorf("redissse: %s: %w", what, fault.MarkPermanent(fmt.Errorf(format, args...)))
}

// failed wraps an error of Redis. Whether the call was carried out is unknown.
func failed(what, allow string, err error) error {
	return fmt.Errorf("redissse: %s: %w", what, redisdb.Mark(err, allow))
}
