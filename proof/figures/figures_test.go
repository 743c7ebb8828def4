package figures

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/proof/report"
)

// measured is a folder with one section and one proof.
func measured(t *testing.T) *Set {
	t.Helper()
	dir := t.TempDir()
	claim := func(what string, m report.Measured, op string, goal float64, verdict string) report.Claim {
		return report.Claim{What: what, Measured: m, Op: op, Goal: report.Number(goal), Verdict: verdict}
	}
	err := report.Save(dir, report.Section{
		Format: report.Format, Name: "bus",
		Figures: []report.Figure{{Chart: "consume", Name: "kafka://", Median: 63304.5, CPU: 20.65}},
		Claims: []report.Claim{
			claim("ours / theirs", report.Ratio(196685, 15258.1, "events/s"), ">=", 12, report.Met),
			claim("missed", report.Ratio(146075, 249442, "events/s"), ">=", 0.7, report.Missed),
			claim("slower", report.Ratio(63304.5, 187719, "events/s"), "", 0, report.NoGoal),
			claim("  later", report.Ratio(3.82543, 0.47663, "ms"), "", 0, report.NoGoal),
			claim("sooner", report.Ratio(2.12, 4.87, "ms"), "", 0, report.NoGoal),
			claim("part", report.Value(0.137058, "of its time"), "<", 0.1, report.Missed),
			claim("size", report.Value(28.3894, "kB"), "<=", 20, report.Missed),
			claim("unknown", report.Ratio(1, 0, "events/s"), "", 0, report.NoGoal),
		},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, proofs), []byte(`{"make stress": {"lost": "0"}}`), 0o600)
	}
	require.NoError(t, err)
	s, err := Load(dir)
	require.NoError(t, err)
	return s
}

func TestMissesAreBold(t *testing.T) {
	s := measured(t)
	for text, want := range map[string]string{
		`{{ours "bus" "ours / theirs"}} {{theirs "bus" "ours / theirs"}} {{ratio "bus" "ours / theirs"}} {{goal "bus" "ours / theirs"}}`: "197,000 15,300 12.9 12",
		`{{ours "bus" "missed"}} {{ratio "bus" "missed"}} {{times "bus" "missed"}}`:                                                      "146,000 **0.586** 0.586",
		`{{ratio "bus" "slower"}} {{ratio "bus" "later"}} {{ratio "bus" "sooner"}}`:                                                      "**0.337** **8.03** 0.435",
		`{{percent "bus" "part"}} {{ours "bus" "size"}} {{ours "bus" "part"}}`:                                                           "**13.7 %** **28.4** **0.137**",
		`{{figure "bus" "consume" "kafka://"}} {{cpu "bus" "consume" "kafka://"}} {{proof "make stress" "lost"}}`:                        "63,300 20.6 0",
		`{{theirs "bus" "size"}}`: "–",
	} {
		if got, err := s.render("test", text); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestUnknownFigures(t *testing.T) {
	s := measured(t)
	for text, says := range map[string]string{
		`{{ours "buss" "missed"}}`:                 `"buss" was not measured`,
		`{{ours "bus" "mised"}}`:                   `no claim "mised"`,
		`{{figure "bus" "consume" "kafak://"}}`:    `no figure of "kafak://"`,
		`{{figure "bus" "consum" "kafka://"}}`:     `chart "consum"`,
		`{{proof "make stress" "doubled"}}`:        `no "doubled" of "make stress"`,
		`{{proof "make stres" "lost"}}`:            `of "make stres"`,
		`{{sum "bus"}}`:                            `"sum" not defined`,
		`{{ours "bus" "missed"}} {{ours "bus" 1}}`: "expected string",
	} {
		if got, err := s.render("test", text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s is %q, %v; want an error with %q", text, got, err, says)
		}
	}
}

// The blocks are those of the tree, on the results of the tree.
func TestFill(t *testing.T) {
	s, err := Load(filepath.Join("..", "results"))
	require.NoError(t, err)
	page := "# A page\n\n12,345/s by hand.\n<!-- figures: transports -->\n| an old figure |\n<!-- end of figures -->\nThe end.\n"
	got, err := s.Fill(page)
	require.NoError(t, err)
	if !strings.HasPrefix(got, "# A page\n\n12,345/s by hand.\n<!-- figures: transports -->\n| | publish | consume |\n") || strings.Contains(got, "an old figure") ||
		!strings.HasSuffix(got, "\n<!-- end of figures -->\nThe end.\n") {
		t.Errorf("filled is\n%s", got)
	}
	if again, err := s.Fill(got); err != nil || again != got {
		t.Errorf("filled twice is another page: %v\n%s", err, again)
	}
	if same, err := s.Fill("no marks"); err != nil || same != "no marks" {
		t.Errorf("a page without marks becomes %q, %v", same, err)
	}
	for page, says := range map[string]string{
		"<!-- figures: transports -->\n":                          "has no end",
		"<!-- figures: none -->\n<!-- end of figures -->":         `no block "none"`,
		"text\n<!-- end of figures -->\n":                         "did not begin",
		got + "<!-- end of figures -->":                           "did not begin",
		"<!-- figures: ../figures -->\n<!-- end of figures -->":   "no block",
		"<!-- figures: transports -->\n<!-- figures: summary -->": "has no end",
	} {
		if _, err := s.Fill(page); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: %v; want an error with %q", page, err, says)
		}
	}
}

// A page that differs is reported and can be written; correct pages stay untouched.
func TestWrite(t *testing.T) {
	s, err := Load(filepath.Join("..", "results"))
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "docs"), 0o700))
	for _, page := range Pages() {
		require.NoError(t, os.WriteFile(filepath.Join(root, page), []byte("<!-- figures: summary -->\n| 1/s |\n<!-- end of figures -->\n"), 0o600))
	}
	if err := s.Differs(root); err == nil || strings.Count(err.Error(), "has other figures than proof/results") != len(Pages()) {
		t.Errorf("pages with other figures: %v", err)
	}
	require.NoError(t, s.Write(root))
	assert.NoError(t, s.Differs(root), "after they were written")
	require.NoError(t, os.Remove(filepath.Join(root, "README.md")))
	if err := s.Differs(root); err == nil || !strings.Contains(err.Error(), "README.md") {
		t.Errorf("a page that is not there: %v", err)
	}
}
