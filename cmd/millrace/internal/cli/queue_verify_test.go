package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// verifyFixture is package draw's: "user-3" has place 17 of 20.
const verifyFixture = "../../../../queue/draw/testdata/"

func TestQueueVerify(t *testing.T) {
	leaves, err := os.ReadFile(verifyFixture + "leaves.txt")
	require.NoError(t, err)
	raw, err := os.ReadFile(verifyFixture + "draw.json")
	require.NoError(t, err)
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	altered := func(field string, value any) string {
		var all map[string]any
		require.NoError(t, json.Unmarshal(raw, &all))
		all[field] = value
		text, err := json.Marshal(all)
		require.NoError(t, err)
		return write(field+".json", string(text))
	}
	lines := strings.Fields(string(leaves))
	good := "queue verify --draw " + verifyFixture + "draw.json --leaves " + verifyFixture + "leaves.txt "
	with := func(draw string) string {
		return "queue verify --draw " + draw + " --leaves " + verifyFixture + "leaves.txt "
	}
	const zeros = "0000000000000000000000000000000000000000000000000000000000000000"
	for line, want := range map[string]string{
		good + strings.Join(lines, " "):  "place 17 of 20",
		good + "--json " + lines[0]:      `"count": 20`,
		good:                             "sale: the order of 20 follows from",
		"queue verify":                   "--draw and --leaves",
		good + "abc":                     "64 hexadecimal digits",
		good + zeros:                     "is not in the draw",
		good + "--commitment " + zeros:   "another seed was committed to",
		good + "--commitment zz":         "--commitment is \"zz\"",
		good + "--beacon-value " + zeros: "did not use the value of the beacon",
		with(altered("seed", zeros)):     "the seed was exchanged",
		with(altered("root", zeros)):     "leaves were added, removed or changed",
		with(altered("beacon", "")):      "no beacon was named",
		with(altered("beaconValue", "")): "its value is missing",
		with(altered("count", 19)):       "19 leaves were published, and 20 are here",
		with(write("text", "<html>")):    "is not a published draw",
		with(folder + "/none"):           "--draw: open",
		"queue verify --draw " + verifyFixture + "draw.json --leaves " + write("short", lines[0]+"\n"+lines[1][1:]): "line 2 of the leaves",
	} {
		r := tool(t, strings.Fields(line)...)
		assert.Containsf(t, r.out+r.err, want, "%s: exit %d, %s%s", line, r.code, r.out, r.err)
	}
}
