package redisratelimit

import (
	"fmt"

	"github.com/millrace-go/millrace/internal/redisdb"
)

// failed wraps an error of a script. It is unknown whether the calls were charged.
func failed(what, name string, err error) error {
	err = redisdb.Mark(err, fmt.Sprintf("+evalsha +eval +info +time +mget +get +set +getrange +setrange +pexpire on the keys {%s}:*", name))
	return fmt.Errorf("redisratelimit: %s %q: %w", what, name, err)
}
