package limitproof

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
)

func rowOf(t *testing.T, key string, try int, v verdict) row {
	t.Helper()
	return row{outcome: held(t, full(t), key), verdict: v, try: try}
}

var (
	good    = verdict{}
	missing = verdict{missed: []string{"97.0 % of the rate was used"}}
	late    = verdict{stalled: true}
	worse   = verdict{violations: []string{"501 calls were sent within a second; the limit is 500"}}
)

func TestDecided(t *testing.T) {
	for _, c := range []struct {
		v    verdict
		try  int
		want bool
	}{
		{good, 1, true}, {missing, 1, false}, {missing, 2, false}, {missing, 3, true}, {late, 1, false}, {late, 3, true}, {worse, 1, true},
	} {
		assert.Equalf(t, c.want, decided(row{verdict: c.v, try: c.try}), "%+v on try %d", c.v, c.try)
	}
}

func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		rows []row
		want int
	}{
		"all good":              {[]row{rowOf(t, "steady", 1, good), rowOf(t, "low", 1, good)}, 0},
		"good in the end":       {[]row{rowOf(t, "steady", 1, missing), rowOf(t, "steady", 2, late), rowOf(t, "steady", 3, good), rowOf(t, "low", 1, good)}, 0},
		"never good":            {[]row{rowOf(t, "steady", 1, missing), rowOf(t, "steady", 2, missing), rowOf(t, "steady", 3, late), rowOf(t, "low", 1, good)}, 1},
		"violated":              {[]row{rowOf(t, "steady", 1, worse), rowOf(t, "low", 1, good)}, 1},
		"violated in a retry":   {[]row{rowOf(t, "steady", 1, late), rowOf(t, "steady", 2, worse)}, 1},
		"the simulator is late": {[]row{rowOf(t, "low", 3, late)}, 1},
	} {
		all := checks(c.rows)
		got := len(slices.DeleteFunc(slices.Clone(all), func(c judge.Check) bool { return c.OK }))
		if got != c.want || (judge.Verdict(all) == nil) != (c.want == 0) {
			t.Errorf("%s: %d, want %d: %+v", name, got, c.want, all)
		}
	}
}

func TestTable(t *testing.T) {
	c := full(t)
	rows := []row{
		rowOf(t, "steady", 1, missing), rowOf(t, "steady", 2, good), rowOf(t, "low", 1, worse), rowOf(t, "gc", 3, late),
		rowOf(t, "broken", 1, good), rowOf(t, "broken", 2, missing),
	}
	text := table(c, rows)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.Lenf(t, lines, len(rows)+1, "%d lines:\n%s", len(lines), text)
	for i, words := range [][]string{
		{"act", "of 450/s", "fullest second", "by sending", "permits expired", "verdict"},
		{"low wants all  ", " 10 ", " 100.0 ", " 350.0 ", "100.0 %", " 490 ", " 489 ", " 380 ", "missed"},
		{"(try 2)", "held"}, {"low alone", "BROKEN"}, {"(try 3)", "simulator late"}, {"on purpose", "noticed"}, {"NOT NOTICED"},
	} {
		for _, w := range words {
			if !strings.Contains(lines[i], w) {
				t.Errorf("no %q in %q", w, lines[i])
			}
		}
	}
	notes := remarks(rows, 0)
	for _, w := range []string{"low wants all\n    - 97.0 %", "low alone wants all\n    - 501 calls", "proves nothing"} {
		assert.Containsf(t, notes, w, "no %q in\n%s", w, notes)
	}
	assert.Equal(t, "At most 489 calls of 500 were sent within any second. It took 3 s.", conclusion(c, rows[1:2], 3*time.Second))
	for _, c := range []struct {
		row  row
		err  error
		says string
	}{
		{rows[1], nil, "489 calls sent in the fullest second"}, {rows[2], judge.ErrBroken, "501 calls were sent within a second; the limit is 500"},
		{rows[3], judge.ErrNoProof, "490 calls arrived in a second, held up by the simulator or the network"}, {rows[0], judge.ErrNoProof, "97.0 % of the rate was used"},
		{rows[5], judge.ErrNoProof, "97.0 % of the rate was used"},
	} {
		all := checks([]row{c.row})
		if len(all) != 1 || !errors.Is(judge.Verdict(all), c.err) || all[0].Detail != c.says {
			t.Errorf("%+v, want %q", all, c.says)
		}
	}
}

func TestPreface(t *testing.T) {
	text, err := preface(full(t), 0)
	require.NoError(t, err)
	for _, w := range []string{
		"Burst 31 + Rate 450 * (1 s + Delay 20ms) + Processes 10 = 500 <= HardLimit 500",
		"2 (ClockSteps) * Burst 15", "LowBurst 24 + LowRate 350", "Transit 0",
	} {
		assert.Containsf(t, text, w, "no %q in\n%s", w, text)
	}
}
