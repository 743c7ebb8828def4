package redisqueue

import (
	_ "embed"
	"regexp"
	"strings"

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

// scripts of a store. Each is its file after the four files that all share; a visit
// begins before the last two of them. Functions of Redis would have to be loaded on
// every node before, and again when they are lost.
type scripts struct{ visit, look, admit, sweep, change *redis.Script }

func newScripts(text func(string) string) scripts {
	script := func(own string) *redis.Script {
		return redis.NewScript(text(inlined(roomText + bitsText + lineText + insideText + own)))
	}
	visit := redis.NewScript(text(inlined(roomText + bitsText + arriveText + lineText + insideText + visitText)))
	return scripts{visit, script(lookText), script(admitText), script(sweepText), script(changeText)}
}

// constants finds a line of names in capitals with their values.
var (
	constants = regexp.MustCompile(`(?m)^local ([A-Z_]+(?:, [A-Z_]+)*) = (.*)$`)
	capitals  = regexp.MustCompile(`\b[A-Z][A-Z_]+\b`)
	remark    = regexp.MustCompile(`(?m)--.*$`)
)

// inlined puts the values of a script's constants where their names are, and takes
// the comments out. A local of Lua that functions use costs every run of the script
// an allocation, and there are sixty.
func inlined(script string) string {
	values := map[string]string{}
	script = constants.ReplaceAllStringFunc(remark.ReplaceAllString(script, ""), func(line string) string {
		parts := constants.FindStringSubmatch(line)
		names, list := strings.Split(parts[1], ", "), strings.Split(parts[2], ", ")
		for i, value := range list {
			values[names[i]] = value
		}
		return ""
	})
	return capitals.ReplaceAllStringFunc(script, func(name string) string {
		if value, ok := values[name]; ok {
			return value
		}
		return name
	})
}
