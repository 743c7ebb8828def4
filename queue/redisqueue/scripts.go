package redisqueue

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/room.lua
	roomText string
	//go:embed lua/bits.lua
	bitsText string
	//go:embed lua/arrive.lua
	arriveText string
	//go:embed lua/line.lua
	lineText string
	//go:embed lua/inside.lua
	insideText string
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
)

// scripts of a store. Each is its file after the four that all have in common; a
// visit begins before the last two of them. Functions of Redis would have to be
// loaded on every node before, and again when they are lost.
type scripts struct{ visit, look, admit, sweep, change *redis.Script }

func newScripts(text func(string) string) scripts {
	script := func(own string) *redis.Script {
		return redis.NewScript(text(roomText + bitsText + lineText + insideText + own))
	}
	visit := redis.NewScript(text(roomText + bitsText + arriveText + lineText + insideText + visitText))
	return scripts{visit, script(lookText), script(admitText), script(sweepText), script(changeText)}
}
