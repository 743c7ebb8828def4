package redisgate

import (
	_ "embed"
	"encoding/binary"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

var (
	//go:embed lua/assign.lua
	assignText string
	//go:embed lua/state.lua
	stateText string
	//go:embed lua/advance.lua
	advanceText string
	//go:embed lua/switch.lua
	switchText string
	//go:embed lua/keep.lua
	keepText string
)

type scripts struct{ assign, state, advance, turn, keep *redis.Script }

func newScripts(edit func(text string) string) scripts {
	script := func(text string) *redis.Script { return redis.NewScript(edit(text)) }
	return scripts{script(assignText), script(stateText), script(advanceText), script(switchText), redis.NewScript(keepText)}
}

// The numbers of a script's answer are packed: one string costs the script less
// than one string for each.
const (
	answers = 8
	double  = 8 // bytes
)

func numberAt(answer string, i int) int64 {
	return int64(math.Float64frombits(binary.LittleEndian.Uint64([]byte(answer[i*double : (i+1)*double]))))
}

// roundOf reads an answer; false when it is malformed.
func roundOf(answer string) (driver.Round, bool) {
	if len(answer) != answers*double {
		return driver.Round{}, false
	}
	return driver.Round{
		State: driver.State{
			Epoch: uint64(numberAt(answer, 0)), On: numberAt(answer, 1) == 1,
			Assigned: numberAt(answer, 2), Serving: numberAt(answer, 3), Opened: numberAt(answer, 4),
			Now: time.UnixMicro(numberAt(answer, 5)),
		},
		Moved: numberAt(answer, 6),
		Next:  time.Duration(numberAt(answer, 7)) * time.Microsecond,
	}, true
}
