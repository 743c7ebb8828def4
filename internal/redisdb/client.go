package redisdb

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// CheckClient refuses a client that would wait beyond the deadline of a context, or repeat a
// call that may have been carried out. The error names every wrong setting, and the right
// values. Clients that this package makes pass. Clients of other types are accepted unchecked.
func CheckClient(client redis.UniversalClient) error {
	heeds, retries := true, 0
	switch c := client.(type) {
	case *redis.Client:
		heeds, retries = c.Options().ContextTimeoutEnabled, c.Options().MaxRetries
	case *redis.ClusterClient:
		heeds, retries = c.Options().ContextTimeoutEnabled, c.Options().MaxRetries
	case *redis.Ring:
		heeds, retries = c.Options().ContextTimeoutEnabled, c.Options().MaxRetries
	}
	var wrong, right []string
	if !heeds {
		wrong = append(wrong, "ContextTimeoutEnabled is false, so a call outlasts the deadline of its context")
		right = append(right, "ContextTimeoutEnabled: true")
	}
	if retries > 0 {
		wrong = append(wrong, fmt.Sprintf("MaxRetries is %d, so a call that may have been carried out is sent again", retries))
		right = append(right, "MaxRetries: -1")
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("the Redis client's options do not fit: %s; make the client by redisclient.Open, or with %s", strings.Join(wrong, "; "), strings.Join(right, ", "))
}

// CheckName refuses a part of keys that has too many bytes, or a character that their hash tag does
// not allow. field names it, and role says what it does in the keys.
func CheckName(field, name string, most int, role string) error {
	if len(name) > most {
		return fmt.Errorf("%s has %d bytes; use at most %d", field, len(name), most)
	}
	bad := func(r rune) bool { return r == '{' || r == '}' || r <= ' ' || r == 0x7f || r == '\uFFFD' }
	if i := strings.IndexFunc(name, bad); i >= 0 {
		return fmt.Errorf("%s %q has a brace, a space or what is no text at byte %d; it %s of the keys, leave it out", field, name, i, role)
	}
	return nil
}

// Once is a client whose scripts run once at most. The client of a Cluster sends a call again when
// its connection broke, though the server may have carried the call out. Once returns the error.
type Once struct{ redis.UniversalClient }

// Eval is EVAL.
func (c Once) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, "eval", script, keys, args)
}

// EvalSha is EVALSHA.
func (c Once) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return c.run(ctx, "evalsha", sha, keys, args)
}

func (c Once) run(ctx context.Context, name, script string, keys []string, args []any) *redis.Cmd {
	all := append(make([]any, 0, 3+len(keys)+len(args)), name, script, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return c.Do(ctx, append(all, args...)...)
}

// Do sends a command.
func (c Once) Do(ctx context.Context, args ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, args...)
	_ = c.Process(ctx, unrepeated{cmd}) // cmd has the error
	return cmd
}

type unrepeated struct{ redis.Cmder }

// NoRetry implements redis.Cmder.
func (unrepeated) NoRetry() bool { return true }
