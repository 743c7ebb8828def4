package site_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/programtest"
	"github.com/millrace-go/millrace/queue/draw"
)

// placesScript prints the places of leaves by the page's own module.
const placesScript = `
const [draw, leaves, asked] = process.argv.slice(1).map((text) => JSON.parse(text));
const { placeOf } = await import(process.env.MODULE);
const places = [];
for (const leaf of asked) places.push(await placeOf(draw, leaves, leaf));
console.log(JSON.stringify(places));
`

// TestPlaceOfADraw: the page finds the place that package draw gives, and believes no draw
// that does not fit together.
func TestPlaceOfADraw(t *testing.T) {
	node := programtest.Find(t, "node")
	text, err := os.ReadFile("static/js/draw.js")
	require.NoError(t, err)
	module := filepath.Join(t.TempDir(), "draw.mjs") // the name tells node that it is a module
	require.NoError(t, os.WriteFile(module, text, 0o600))
	seed, beacon := make([]byte, draw.Size), []byte("a beacon")
	leaves := make([]draw.Leaf, 50)
	for i := range leaves {
		leaves[i] = draw.LeafOf([]byte("key"), fmt.Sprint("fan-", i))
	}
	draw.Sort(leaves)
	order, root, commitment := draw.NewOrder(seed, beacon, leaves), draw.Root(leaves), draw.Commitment(seed)
	var texts []string
	var want []int
	for _, leaf := range leaves {
		place, ok := order.Place(leaf)
		require.True(t, ok)
		texts, want = append(texts, leaf.String()), append(want, place)
	}
	asked, want := append(texts[:len(texts):len(texts)], draw.LeafOf([]byte("key"), "late").String()), append(want, 0)

	places := func(p draw.Published, leaves []string) (got []*int) {
		t.Helper()
		var args []string
		for _, v := range []any{p, leaves, asked} {
			text, err := json.Marshal(v)
			require.NoError(t, err)
			args = append(args, string(text))
		}
		cmd := exec.Command(node, append([]string{"--input-type=module", "--eval", placesScript, "--"}, args...)...)
		cmd.Env = append(cmd.Environ(), "MODULE="+module)
		out, err := cmd.Output()
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(out, &got))
		return got
	}
	published := draw.Published{Count: len(leaves), Seed: seed, Root: root[:], Commitment: commitment[:], Value: beacon}
	for i, place := range places(published, texts) {
		require.NotNil(t, place)
		require.Equal(t, want[i], *place)
	}
	other := published
	other.Commitment = root[:]
	for name, got := range map[string][]*int{
		"another seed": places(other, texts), "a leaf too few": places(published, texts[1:]),
		"another leaf": places(published, append([]string{asked[len(texts)]}, texts[1:]...)),
	} {
		for _, place := range got {
			require.Nil(t, place, name)
		}
	}
}
