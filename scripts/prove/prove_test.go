package main

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const example = `
# a comment
1 | first  | timed | run
2 | second | n/a: it has no servers | run
`

func scenariosOf(t *testing.T, text string) []scenario {
	t.Helper()
	all, err := parse(text)
	require.NoError(t, err)
	return all
}

// proved are the numbers of the specification's scenarios that are in the list.
func proved() (numbers []int) {
	for n := 1; n <= 30; n++ {
		if n != 29 {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// The list has each of them, on both columns; only cells of the embedded defaults
// may be ruled out, and have a reason.
func TestList(t *testing.T) {
	all, numbers := scenariosOf(t, list), proved()
	require.Len(t, all, len(numbers), "scenarios")
	for i, s := range all {
		if s.number != numbers[i] || s.name == "" {
			t.Errorf("line %d is scenario %d %q", i+1, s.number, s.name)
		}
		if (s.ways[embedded].never != "") != slices.Contains([]int{14, 25, 26, 27}, s.number) {
			t.Errorf("scenario %d on embedded: n/a %q; only 14, 25, 26 and 27 are ruled out there", s.number, s.ways[embedded].never)
		}
		assert.Equalf(t, "", s.ways[servers].never, "scenario %d on servers is ruled out", s.number)
	}
}

// Each scenario of the list has one test of its number.
func TestEachScenarioHasATest(t *testing.T) {
	found := map[string]int{}
	files, err := filepath.Glob(filepath.Join("../..", scenarios, "*_test.go"))
	require.NoError(t, err)
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "TestScenario") {
				found[f.Name.Name[:min(len("TestScenario00"), len(f.Name.Name))]]++
			}
		}
	}
	for _, s := range scenariosOf(t, list) {
		if n := found[strings.TrimPrefix(testOf(s.number), "^")]; n != 1 {
			t.Errorf("%d tests begin with %s", n, testOf(s.number))
		}
	}
	assert.Len(t, found, len(proved()), "scenarios have tests")
}

func TestParseRefuses(t *testing.T) {
	for says, text := range map[string]string{
		"four parts":      "1 | a | run",
		"number":          "one | a | run | run",
		"of its own":      "1 | a | run | run\n1 | b | run | run",
		"none of run":     "1 | a | skip | run",
		"without a reaso": "1 | a | n/a: | run",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want one that says %q", text, err, says)
		}
	}
}

func TestFlags(t *testing.T) {
	all, columns, err := settings{only: "9, 5", column: servers}.chosen()
	if err != nil || len(all) != 2 || all[0].number != 5 || all[1].number != 9 || len(columns) != 1 {
		t.Errorf("%v of %v, %v", all, columns, err)
	}
	for says, s := range map[string]settings{"no number": {only: "five"}, "there is no scenario 29": {only: "29"}, "-column both": {column: "both"}} {
		if _, _, err := s.chosen(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want one that says %q", s, err, says)
		}
	}
}

// A test that fails, is skipped, does not run, or ran less often than it should is
// found, even beside tests that passed.
func TestJudge(t *testing.T) {
	const pass = `{"Action":"pass","Test":"TestScenario01Normal/embedded"}` + "\n" + `{"Action":"pass","Test":"TestScenario01Normal"}` + "\n"
	for name, tc := range map[string]struct {
		events string
		times  int
		ended  error
		reason string // "" when it holds
	}{
		"a pass":             {pass, 1, nil, ""},
		"three of three":     {pass + pass + pass, 3, nil, ""},
		"two of three":       {pass + pass, 3, nil, "2 tests passed, want 3"},
		"a failure":          {pass + `{"Action":"fail","Test":"TestScenario01Normal"}`, 1, errors.New("exit status 1"), "failed: TestScenario01Normal"},
		"a skip inside":      {`{"Action":"skip","Test":"TestScenario01Normal/servers"}` + "\n" + pass, 1, nil, "skipped: TestScenario01Normal/servers"},
		"nothing ran":        {`{"Action":"pass"}`, 1, nil, "0 tests passed, want 1"},
		"a crash":            {`{"Action":"output","Output":"panic: boom\n"}`, 1, errors.New("exit status 2"), "exit status 2"},
		"a crash at the end": {pass, 1, errors.New("found unexpected goroutines"), "unexpected goroutines"},
	} {
		c := cell{Number: 1}
		assert.NoErrorf(t, judge(&c, strings.NewReader(tc.events), tc.times, func() error { return tc.ended }), "%s", name)
		if (c.Verdict == held) != (tc.reason == "") || !strings.Contains(c.Reason, tc.reason) {
			t.Errorf("%s: %s %q, want %q", name, c.Verdict, c.Reason, tc.reason)
		}
	}
}

func TestFigures(t *testing.T) {
	c := cell{}
	events := `{"Action":"output","Test":"T","Output":"    reads_test.go:77: measured: p95 3ms\n"}
{"Action":"output","Test":"T","Output":"    reads_test.go:78: something else\n"}
{"Action":"pass","Test":"T"}`
	if err := judge(&c, strings.NewReader(events), 1, func() error { return nil }); err != nil || len(c.Figures) != 1 || c.Figures[0] != "p95 3ms" {
		t.Errorf("%q, %v", c.Figures, err)
	}
}

// played runs the example with planted results, and returns the output.
func played(t *testing.T, within time.Duration, play func(*cell)) (string, report, error) {
	t.Helper()
	var out strings.Builder
	file := filepath.Join(t.TempDir(), "build", "prove.json")
	columns := []string{embedded, servers}
	r := runAll(t.Context(), scenariosOf(t, example), columns, time.Now(), &out, func(_ context.Context, c *cell, _ way) error {
		c.Verdict = held
		play(c)
		return nil
	})
	for i := range r.Cells {
		r.Cells[i].Seconds = 7
	}
	r.Seconds = 28
	err := finish(t.Context(), r, settings{json: file, within: within}, columns, &out)
	text, e := os.ReadFile(file)
	var kept report
	require.NoError(t, errors.Join(e, json.Unmarshal(text, &kept)))
	return out.String(), kept, err
}

func TestTable(t *testing.T) {
	out, kept, err := played(t, time.Minute, func(c *cell) {
		if c.Number == 1 && c.Column == servers {
			c.Figures = []string{"p95 3 ms"}
		}
	})
	want := `
 #  scenario  embedded        servers       
 1  first     ok    7 s       ok    7 s
      servers: p95 3 ms
 2  second    n/a             ok    7 s
      embedded: n/a: it has no servers
`
	if err != nil || !strings.Contains(out, want) {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
	if len(kept.Cells) != 4 || kept.Cells[1].Verdict != never || kept.Cells[2].Figures[0] != "p95 3 ms" || kept.Seconds != 28 {
		t.Errorf("written: %+v", kept)
	}
}

// One planted failure ends in failure: its output is printed, the table marks it,
// and the run fails.
func TestPlantedFailure(t *testing.T) {
	out, kept, err := played(t, time.Minute, func(c *cell) {
		if c.Number == 2 {
			c.Verdict, c.Reason, c.output = fails, "failed: TestScenario02Peak", "worst second: 501 calls\n"
		}
	})
	if err == nil || !strings.Contains(err.Error(), "1 of 3 do not hold: 2 on servers") {
		t.Errorf("the run ends with %v", err)
	}
	for _, want := range []string{"worst second: 501 calls", "FAILED    7 s", "servers: FAILED: failed: TestScenario02Peak"} {
		assert.Contains(t, out, want, "is missing in")
	}
	if kept.Cells[3].Verdict != fails {
		t.Errorf("written: %+v", kept.Cells[3])
	}
}

func TestTooSlow(t *testing.T) {
	if _, _, err := played(t, 20*time.Second, func(*cell) {}); err == nil || !strings.Contains(err.Error(), "it took 28s, more than 20s") {
		t.Errorf("the run ends with %v", err)
	}
	assert.Error(t, (report{}).verdict(time.Hour), "a run of nothing holds")
}

// A cell that cannot be played at all is a failure, and the others are played.
func TestBrokenCell(t *testing.T) {
	n := 0
	r := runAll(t.Context(), scenariosOf(t, example), []string{servers}, time.Now(), &strings.Builder{}, func(_ context.Context, c *cell, _ way) error {
		if n++; n == 1 {
			return errors.New("no such program")
		}
		c.Verdict = held
		return nil
	})
	if len(r.Cells) != 2 || r.Cells[0].Verdict != fails || r.Cells[0].Reason != "no such program" || r.Cells[1].Verdict != held {
		t.Errorf("%+v", r.Cells)
	}
}
