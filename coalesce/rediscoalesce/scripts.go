package rediscoalesce

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/request.lua
	requestText string
	//go:embed lua/release.lua
	releaseText string
	//go:embed lua/done.lua
	doneText string
	//go:embed lua/extend.lua
	extendText string
)

type scripts struct{ request, release, done, extend *redis.Script }

func newScripts() scripts {
	return scripts{
		request: redis.NewScript(requestText), release: redis.NewScript(releaseText),
		done: redis.NewScript(doneText), extend: redis.NewScript(extendText),
	}
}
