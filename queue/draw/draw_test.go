package draw_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/draws"
	"github.com/millrace-go/millrace/queue/draw"
)

var (
	seed = bytes.Repeat([]byte{7}, draws.Size)
	key  = bytes.Repeat([]byte{9}, 32)
)

// published is a draw of n people, with their leaves.
func published(n int) (draw.Published, []draw.Leaf) {
	leaves := make([]draw.Leaf, n)
	for i := range leaves {
		leaves[i] = draws.LeafOf(key, fmt.Sprint("user-", i))
	}
	draws.Sort(leaves)
	c, root := draws.Commitment(seed), draws.Root(leaves)
	return draw.Published{
		Event: "sale", Opens: time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC), Commitment: c[:], Beacon: "drand round 4711", Count: n,
		Root: root[:], Seed: seed, Value: []byte("a value that nobody chose"),
	}, leaves
}

// TestOrder compares with the formula, written down once more.
func TestOrder(t *testing.T) {
	p, leaves := published(500)
	placeOf, err := p.Verify(leaves)
	require.NoError(t, err)
	hash := func(l draw.Leaf) [32]byte {
		return sha256.Sum256([]byte(string(p.Seed) + string(p.Value) + string(p.Root) + string(l[:])))
	}
	want := slices.Clone(leaves)
	slices.SortFunc(want, func(a, b draw.Leaf) int { x, y := hash(a), hash(b); return bytes.Compare(x[:], y[:]) })
	for i, l := range want {
		require.Equal(t, i+1, placeOf(l))
	}
	require.Zero(t, placeOf(draw.Leaf{}))

	p, none := published(0)
	placeOf, err = p.Verify(none)
	require.NoError(t, err)
	require.Zero(t, placeOf(leaves[0]))
}

func TestVerifyRefuses(t *testing.T) {
	other := bytes.Repeat([]byte{8}, draws.Size)
	for text, alter := range map[string]func(p *draw.Published, leaves *[]draw.Leaf){
		"the commitment has 0 bytes":              func(p *draw.Published, _ *[]draw.Leaf) { p.Commitment = nil },
		"no root is published yet":                func(p *draw.Published, _ *[]draw.Leaf) { p.Root, p.Seed = nil, nil },
		"the seed is not published yet":           func(p *draw.Published, _ *[]draw.Leaf) { p.Seed = nil },
		"the seed has 31 bytes":                   func(p *draw.Published, _ *[]draw.Leaf) { p.Seed = p.Seed[1:] },
		"the seed was exchanged":                  func(p *draw.Published, _ *[]draw.Leaf) { p.Seed = other },
		"no beacon was named":                     func(p *draw.Published, _ *[]draw.Leaf) { p.Beacon = "" },
		"its value is missing":                    func(p *draw.Published, _ *[]draw.Leaf) { p.Value = nil },
		"50 leaves were published, and 49":        func(_ *draw.Published, l *[]draw.Leaf) { *l = (*l)[1:] },
		"stands twice, at lines 3 and 4":          func(_ *draw.Published, l *[]draw.Leaf) { (*l)[3] = (*l)[2] },
		"line 8 is below line 7":                  func(_ *draw.Published, l *[]draw.Leaf) { (*l)[6], (*l)[7] = (*l)[7], (*l)[6] },
		"leaves were added, removed or changed":   func(_ *draw.Published, l *[]draw.Leaf) { (*l)[49][31] ^= 1 },
		"changed after the freeze":                func(p *draw.Published, l *[]draw.Leaf) { p.Count--; *l = (*l)[1:] },
		"and " + fmt.Sprintf("%x", other)[:16]:    func(p *draw.Published, _ *[]draw.Leaf) { p.Root = other },
		"the commitment is " + "0808080808080808": func(p *draw.Published, _ *[]draw.Leaf) { p.Commitment = other },
	} {
		p, leaves := published(50)
		alter(&p, &leaves)
		_, err := p.Verify(leaves)
		require.ErrorContains(t, err, text)
		want := draw.ErrBroken
		if strings.Contains(text, "yet") {
			want = draw.ErrUnfinished
		}
		require.ErrorIs(t, err, want)
	}
}

// text is leaves as they are published.
func text(leaves []draw.Leaf) string {
	var b strings.Builder
	for _, l := range leaves {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}

func TestLeaves(t *testing.T) {
	_, leaves := published(20)
	got, err := draw.ReadLeaves(strings.NewReader(text(leaves)))
	require.NoError(t, err)
	require.Equal(t, leaves, got)
	for _, bad := range []string{"zz", leaves[0].String()[1:], leaves[0].String() + "00", ""} {
		_, err := draw.ReadLeaves(strings.NewReader(leaves[0].String() + "\n" + bad + "\n"))
		require.ErrorContains(t, err, "line 2 of the leaves", bad)
	}
	_, err = draw.ReadLeaves(strings.NewReader(strings.Repeat("0", 1<<20)))
	require.ErrorContains(t, err, "line 1 of the leaves")
}

// No change of the code may change the fixture: users that kept the files of a draw check
// them with another release.
const (
	fixtureDraw, fixtureLeaves = "testdata/draw.json", "testdata/leaves.txt"
	fixtureUser, fixturePlace  = "user-3", 17
)

func TestFixture(t *testing.T) {
	raw, err := os.ReadFile(fixtureDraw)
	require.NoError(t, err)
	var p draw.Published
	require.NoError(t, json.Unmarshal(raw, &p))
	file, err := os.Open(fixtureLeaves)
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // read only
	leaves, err := draw.ReadLeaves(file)
	require.NoError(t, err)
	want, all := published(20)
	require.Equal(t, want, p)
	require.Equal(t, all, leaves)
	placeOf, err := p.Verify(leaves)
	require.NoError(t, err)
	require.Equal(t, fixturePlace, placeOf(draws.LeafOf(key, fixtureUser)))
}

// TestPython runs the program of the docs on the fixture, where there is a Python.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	run := func(file string) (string, error) {
		leaf := draw.Leaf(draws.LeafOf(key, fixtureUser))
		out, err := exec.CommandContext(t.Context(), python, "../../docs/verify-draw.py", file, fixtureLeaves, leaf.String()).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	out, err := run(fixtureDraw)
	require.NoError(t, err, out)
	require.Equal(t, fmt.Sprint(fixturePlace), out)
	for what, alter := range map[string]func(*draw.Published){
		"the seed is not that of the commitment":      func(p *draw.Published) { p.Seed = bytes.Repeat([]byte{1}, 32) },
		"the leaves are not those of the root":        func(p *draw.Published) { p.Root = bytes.Repeat([]byte{1}, 32) },
		"the leaves are not in order, not once each,": func(p *draw.Published) { p.Count++ },
	} {
		p, _ := published(20)
		alter(&p)
		raw, err := json.Marshal(p)
		require.NoError(t, err)
		file := t.TempDir() + "/draw.json"
		require.NoError(t, os.WriteFile(file, raw, 0o600))
		out, err := run(file)
		require.Error(t, err)
		require.Contains(t, out, what)
	}
}

func FuzzReadLeaves(f *testing.F) {
	_, leaves := published(3)
	f.Add(text(leaves))
	f.Add("\r\n")
	f.Add("0g")
	f.Fuzz(func(t *testing.T, raw string) {
		leaves, err := draw.ReadLeaves(strings.NewReader(raw))
		if err != nil {
			return
		}
		again, err := draw.ReadLeaves(strings.NewReader(text(leaves)))
		require.NoError(t, err)
		require.Equal(t, leaves, again)
	})
}
