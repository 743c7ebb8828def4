package screen

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// writes keeps every write apart.
type writes struct{ list []string }

func (w *writes) Write(p []byte) (int, error) {
	w.list = append(w.list, string(p))
	return len(p), nil
}

func terminal(w *writes, width, height int) *Screen {
	return &Screen{w: w, live: true, size: func() (int, int) { return width, height }}
}

func TestFrameIsOneWrite(t *testing.T) {
	var w writes
	s := terminal(&w, 40, 24)
	s.Draw([]string{"one", "two", "three"})
	s.Draw([]string{"four", "five"})
	s.Print("done\n")
	s.Print("more\n")
	want := []string{
		"one\x1b[K\ntwo\x1b[K\nthree\x1b[K\n\x1b[J",
		"\r\x1b[3Afour\x1b[K\nfive\x1b[K\n\x1b[J",
		"\r\x1b[2A\x1b[Jdone\n",
		"more\n",
	}
	assert.Equalf(t, strings.Join(want, "|"), strings.Join(w.list, "|"), "got  %q\nwant %q", w.list, want)
}

func TestLinesFitTheTerminal(t *testing.T) {
	var w writes
	s := terminal(&w, 10, 3)
	s.Draw([]string{strings.Repeat("x", 50), "äöü äöü äöü", "a third line that the terminal has no room for"})
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(w.list[0], "\x1b[K", ""), "\x1b[J"), "\n")
	if len(lines) != 3 || lines[0] != "xxxxxxxx…" || lines[1] != "äöü äöü …" || lines[2] != "" {
		t.Errorf("%q", lines)
	}
}

func TestPlainHasNoControls(t *testing.T) {
	var b bytes.Buffer
	s := New(&b, false)
	if s.Live() || s.Width() != 0 {
		t.Fatal("a buffer was taken for a terminal")
	}
	s.Draw([]string{"a frame"})
	s.Print("%s %s %s\n", s.Good("good"), s.Bad("bad"), s.Strong("strong"))
	assert.Equal(t, "good bad strong\n", b.String())
}

func TestTable(t *testing.T) {
	got := Table([]string{"step", "count"}, [][]string{{"a", "12,345"}, {"longer", "1"}})
	want := "  step     count\n  a       12,345\n  longer       1\n"
	assert.Equal(t, want, got)
}

func TestWrap(t *testing.T) {
	assert.Equal(t, "aaaa bbbb\n   cccc dddd", Wrap("aaaa bbbb cccc dddd", 10, 3))
	assert.Equal(t, "aaaa bbbb cccc dddd", Wrap("aaaa bbbb cccc dddd", 0, 3))
}

func TestBar(t *testing.T) {
	for share, want := range map[float64]string{0: "[....]", 0.5: "[##..]", 1: "[####]", 7: "[####]", -1: "[....]"} {
		assert.Equalf(t, want, Bar(share, 4), "%v", share)
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		assert.Equalf(t, want, Thousands(n), "%d", n)
	}
}
