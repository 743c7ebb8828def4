package redisbus

import (
	"context"
	"embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed lua
var files embed.FS

// scripts is the lua folder.
type scripts struct {
	append, lease, advance, release, prune, backlog, beat, members, leave, forget *redis.Script
}

func loadScripts() (s scripts, err error) {
	for name, into := range map[string]**redis.Script{
		"append": &s.append, "lease": &s.lease, "advance": &s.advance, "release": &s.release,
		"prune": &s.prune, "backlog": &s.backlog, "beat": &s.beat, "members": &s.members, "leave": &s.leave,
		"forget": &s.forget,
	} {
		text, err := files.ReadFile("lua/" + name + ".lua")
		if err != nil {
			return s, fmt.Errorf("redisbus: %w", err)
		}
		*into = redis.NewScript(string(text))
	}
	return s, nil
}

// call is one run of a script.
type call struct {
	script *redis.Script
	keys   []string
	args   []any
	result *redis.Cmd
}

// sender is a client, or one connection of it.
type sender interface {
	redis.Scripter
	Pipelined(ctx context.Context, fn func(redis.Pipeliner) error) ([]redis.Cmder, error)
}

// runAll runs the calls in one round trip, in order, and stores their results. A server
// that has forgotten a script has not run it, so the script is sent again in full. The
// error is the first of the calls; calls after a failed one have run.
func runAll(ctx context.Context, client sender, calls []*call) error {
	if len(calls) == 0 {
		return nil
	}
	if len(calls) == 1 {
		c := calls[0]
		c.result = c.script.Run(ctx, client, c.keys, c.args...)
		return c.result.Err()
	}
	// Every call has its own error, and the pipeline's is the first of them.
	//nolint:errcheck // see above
	client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, c := range calls {
			c.result = c.script.EvalSha(ctx, p, c.keys, c.args...)
		}
		return nil
	})
	for _, c := range calls {
		if redis.HasErrorPrefix(c.result.Err(), "NOSCRIPT") {
			c.result = c.script.Eval(ctx, client, c.keys, c.args...)
		}
	}
	for _, c := range calls {
		if err := c.result.Err(); err != nil {
			return err
		}
	}
	return nil
}
