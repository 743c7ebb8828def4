package judge

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

func TestVerdict(t *testing.T) {
	good, bad := That("good", true, ""), That("bad", false, "it is")
	missed, unsure := Goal("slow", false, "5 s"), Control("control", false, "0")
	out := screen.New(&bytes.Buffer{}, true)
	for _, c := range []struct {
		checks []Check
		err    error
		line   string
	}{
		{[]Check{good, good}, nil, "OK: all 2 checks hold\n"},
		{[]Check{good, missed}, nil, "OK: all promises hold; missed goals: 1\n"},
		{[]Check{good, bad}, ErrBroken, "BROKEN: 1 of 2 checks do not hold\n"},
		{[]Check{good, missed, bad, unsure}, ErrBroken, "BROKEN: 1 of 4 checks do not hold; missed goals: 1\n"},
		{[]Check{good, unsure}, ErrNoProof, "UNSURE: 1 of 2 checks do not hold, without which the run proves nothing\n"},
		{nil, ErrNoProof, "UNSURE: 0 of 0 checks do not hold, without which the run proves nothing\n"},
	} {
		require.Equal(t, c.err, Verdict(c.checks), "%+v", c.checks)
		require.Equal(t, c.line, Line(out, c.checks), "%+v", c.checks)
	}
}

func TestTable(t *testing.T) {
	var text bytes.Buffer
	err := Conclude(screen.New(&text, true), []Check{
		That("good", true, ""), That("bad", false, "%d of %d", 1, 2), Goal("slow", false, "5 s"), Control("control", false, "0"),
	})
	require.ErrorIs(t, err, ErrBroken)
	require.Equal(t, `
  ok      good
  BROKEN  bad      1 of 2
  MISSED  slow     5 s
  UNSURE  control  0

BROKEN: 1 of 4 checks do not hold; missed goals: 1
`, text.String())
	require.Equal(t, "  none\n", Table(screen.New(&text, true), nil))
}

func TestFindings(t *testing.T) {
	var f Findings
	f.Announce("second", "%d payments", 7)
	f.Announce("first", "%d seats", 9)
	f.Fault("first", "")
	for i := range 5 {
		f.Fault("second", "payment %d", i)
	}
	require.Equal(t, []Check{
		{Name: "second", Detail: "payment 0; payment 1; payment 2; and 2 more"}, {Name: "first", OK: true, Detail: "9 seats"},
	}, f.Checks())
	require.False(t, strings.Contains(More(0), "more"))
}

func TestPeak(t *testing.T) {
	for _, c := range []struct {
		spans []Span
		want  int
	}{
		{nil, 0},
		{[]Span{{1, 2}, {2, 3}, {3, 0}}, 1},
		{[]Span{{1, 3}, {2, 4}, {5, 5}}, 2},
		{[]Span{{1, 0}, {2, 0}, {3, 0}}, 3},
	} {
		require.Equal(t, c.want, Peak(c.spans), "%v", c.spans)
	}
}
