package site_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	seed, beacon := make([]byte, sha256.Size), []byte("a beacon")
	leafOf := func(user string) (l draw.Leaf) {
		mac := hmac.New(sha256.New, []byte("key"))
		mac.Write([]byte(user))
		mac.Sum(l[:0])
		return l
	}
	leaves := make([]draw.Leaf, 50)
	for i := range leaves {
		leaves[i] = leafOf(fmt.Sprint("fan-", i))
	}
	slices.SortFunc(leaves, func(a, b draw.Leaf) int { return bytes.Compare(a[:], b[:]) })
	all := sha256.New()
	for _, leaf := range leaves {
		all.Write(leaf[:])
	}
	commitment := sha256.Sum256(seed)
	published := draw.Published{Count: len(leaves), Seed: seed, Root: all.Sum(nil), Commitment: commitment[:], Beacon: "a name", Value: beacon}
	placeOf, err := published.Verify(leaves)
	require.NoError(t, err)
	var texts []string
	var want []int
	for _, leaf := range leaves {
		texts, want = append(texts, leaf.String()), append(want, placeOf(leaf))
	}
	asked, want := append(texts[:len(texts):len(texts)], leafOf("late").String()), append(want, 0)

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
	for i, place := range places(published, texts) {
		require.NotNil(t, place)
		require.Equal(t, want[i], *place)
	}
	other := published
	other.Commitment = published.Root
	for name, got := range map[string][]*int{
		"another seed": places(other, texts), "a leaf too few": places(published, texts[1:]),
		"another leaf": places(published, append([]string{asked[len(texts)]}, texts[1:]...)),
	} {
		for _, place := range got {
			require.Nil(t, place, name)
		}
	}
}
