package redissse

import (
	"context"
	_ "embed"
	"errors"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/open.lua
	openText string
	//go:embed lua/gone.lua
	goneText string
	//go:embed lua/close.lua
	closeText string
	//go:embed lua/sweep.lua
	sweepText string
	//go:embed lua/renew.lua
	renewText string
)

// scripts of a cap.
type scripts struct{ open, gone, close, sweep, renew *redis.Script }

func newScripts(text func(string) string) scripts {
	script := func(s string) *redis.Script { return redis.NewScript(text(s)) }
	return scripts{
		open: script(openText), sweep: script(sweepText),
		gone: script(goneText), close: script(closeText), renew: script(renewText),
	}
}

// ask is one run of a script.
type ask struct {
	keys []string
	args []any
}

// runAll runs a script many times, for members of any slots, in as many calls as
// there are nodes. A pipeline has no fallback of its own where a node has lost the
// script, so the refused runs are sent again with the script's text.
func (c *connections) runAll(ctx context.Context, script *redis.Script, asks []ask) ([]*redis.Cmd, error) {
	answers := make([]*redis.Cmd, len(asks))
	again := make([]int, len(asks))
	for i := range asks {
		asks[i].args = c.with(asks[i].args)
		again[i] = i
	}
	for _, run := range [...]func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd{script.EvalSha, script.Eval} {
		if len(again) == 0 {
			break
		}
		pipe := c.client.Pipeline()
		for _, i := range again {
			answers[i] = run(ctx, pipe, asks[i].keys, asks[i].args...)
		}
		_, err := pipe.Exec(ctx)
		var lost []int
		for _, i := range again {
			switch own := answers[i].Err(); {
			case redis.HasErrorPrefix(own, "NOSCRIPT"):
				lost = append(lost, i)
			case own != nil:
				return nil, own
			}
		}
		if again = lost; err != nil && len(lost) == 0 {
			return nil, err // of no command of ours
		}
	}
	if len(again) > 0 {
		return nil, errors.New("the script is lost as soon as it is sent")
	}
	return answers, nil
}

func (c *connections) run(ctx context.Context, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	return script.Run(ctx, c.client, keys, c.with(args)...)
}

// with adds the arguments that tests give to every script.
func (c *connections) with(args []any) []any {
	if c.extra == nil {
		return args
	}
	return append(args, c.extra()...)
}
