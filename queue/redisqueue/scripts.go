package redisqueue

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/visit.lua
	visitText string
	//go:embed lua/look.lua
	lookText string
	//go:embed lua/admit.lua
	admitText string
	//go:embed lua/sweep.lua
	sweepText string
	//go:embed lua/change.lua
	changeText string
	//go:embed lua/draw.lua
	drawText string
)

// scripts of a store.
type scripts struct{ visit, look, admit, sweep, change, draw *redis.Script }

func newScripts(text func(string) string) scripts {
	script := func(own string) *redis.Script { return redis.NewScript(text(own)) }
	return scripts{script(visitText), script(lookText), script(admitText), script(sweepText), script(changeText), script(drawText)}
}
