package redisidempotency

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/claim.lua
	claimText string
	//go:embed lua/extend.lua
	extendText string
	//go:embed lua/complete.lua
	completeText string
	//go:embed lua/release.lua
	releaseText string
	//go:embed lua/done.lua
	doneText string
	//go:embed lua/renew.lua
	renewText string
	//go:embed lua/drop.lua
	dropText string
)

// leaseScripts work on a lease, a hash.
type leaseScripts struct{ claim, extend, complete, release *redis.Script }

func newLeaseScripts() leaseScripts {
	return leaseScripts{
		claim: redis.NewScript(claimText), extend: redis.NewScript(extendText),
		complete: redis.NewScript(completeText), release: redis.NewScript(releaseText),
	}
}

// markScripts work on a key of a store of [New], a string.
type markScripts struct{ done, renew, drop *redis.Script }

func newMarkScripts() markScripts {
	return markScripts{done: redis.NewScript(doneText), renew: redis.NewScript(renewText), drop: redis.NewScript(dropText)}
}
