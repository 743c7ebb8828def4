package page

import (
	"bytes"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/proof/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// example is a page with a section of bars, one of lines, and one to come.
func example() []Entry {
	bars := report.To(io.Discard)
	bars.Title("medians of 3 rounds; 50000 rows of 500 B")
	bars.Chart(report.Chart{Name: "drain", Title: "Draining a backlog", Unit: "events/s", Note: "50000 rows", Goals: []report.Mark{{Label: "12 × the peer", Value: 120_000}}})
	bars.Figure(report.Figure{Chart: "drain", Name: "millrace", Role: report.Ours, Rounds: []report.Number{150_000, 140_000, 160_000}, CPU: 1.5})
	bars.Figure(report.Figure{Chart: "drain", Name: "a peer", Role: report.Peer, Rounds: []report.Number{10_000, 9_000, 11_000}, CPU: 30, EngineCPU: 12})
	bars.AtLeast("drain / a peer", report.Ratio(150_000, 10_000, "events/s"), 12)
	bars.AtMost("p99 latency / a peer", report.Ratio(14, 10, "ms"), 1)
	bars.Below("append's part", report.Value(math.NaN(), "of its time"), 0.1)
	bars.Told("  an empty round trip", report.Value(0.031, "of its time"))
	lines := report.To(io.Discard)
	lines.Setting("3 rounds")
	lines.Chart(report.Chart{Name: "rate", Title: "Draining what has piled up", Unit: "events/s", X: "rows of backlog"})
	lines.Chart(report.Chart{Name: "nothing", Title: "Nobody measured it", Unit: "ms", X: "rows of backlog"})
	for _, rows := range []report.Number{1000, 10_000, 100_000} {
		lines.Figure(report.Figure{Chart: "rate", Name: "1 shard", Role: report.Ours, X: rows, Rounds: []report.Number{rows * 3}})
		lines.Figure(report.Figure{Chart: "rate", Name: "limit: a read by primary key", Role: report.Limit, Colour: -1, X: rows, Rounds: []report.Number{500_000}})
	}
	lines.Figure(report.Figure{Chart: "rate", Name: "1 shard", Role: report.Ours, X: 1e6, Rounds: []report.Number{0}})
	where := report.Environment{
		Date: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Commit: "0123456789abcdef0123", Go: "go1.26.0", System: "linux/amd64", Kernel: "6.1.0",
		CPU: "A Processor", Cores: 2, Memory: "8 GiB", Load: "0.10", Servers: map[string]string{"Redis": "7.0.15", "PostgreSQL": "15.18"},
	}
	a, b := bars.Section(), lines.Section()
	a.Environment, b.Environment, a.Seconds, b.Seconds = where, where, 61, 62
	a.Name, b.Name = "outbox", "growth-outbox"
	return []Entry{
		{Name: "outbox", Title: "cursor outbox on PostgreSQL", Compared: "Ours beside a peer.", Repeat: "make bench ONLY=outbox", Measured: true, Result: a},
		{Name: "growth-outbox", Title: "how a drain grows", Compared: "Ours beside a bare read.", Repeat: "make bench ONLY=growth-outbox", Measured: true, Result: b},
		{Name: "queue", Title: "the waiting room", Compared: "Ours beside plain scripts.", Repeat: "make bench ONLY=queue"},
	}
}

func made(t *testing.T, entries []Entry) Page {
	t.Helper()
	p, err := Make(entries)
	require.NoError(t, err)
	return p
}

// The golden page is made of saved results, as the report is.
func TestGolden(t *testing.T) {
	results, all := filepath.Join("testdata", "results"), example()
	if *update {
		for _, e := range all[:2] {
			require.NoError(t, report.Save(results, e.Result))
		}
		require.NoError(t, made(t, all).Write("testdata"))
	}
	for i := range all {
		all[i].Measured, all[i].Result = false, report.Section{}
	}
	all, err := Read(results, all)
	require.NoError(t, err)
	p := made(t, all)
	if err := p.Differs("testdata"); err != nil {
		t.Errorf("%v; look at it, and then: go test ./proof/page -update", err)
	}
	assert.Len(t, p.Plots, 2, "plots")
	assert.True(t, bytes.Equal(made(t, example()).Text, p.Text), "results make another page after they were saved and read")
}

// A count is written as a number; an unknown one is a dash.
func TestAt(t *testing.T) {
	for x, want := range map[report.Number]string{0: "–", 1: "1", 16: "16", 1024: "1,024", 2.5: "2.50"} {
		if got := at(x); got != want {
			t.Errorf("%v is %q, want %q", float64(x), got, want)
		}
	}
}

func TestMisses(t *testing.T) {
	text := string(made(t, example()).Text)
	for _, want := range []string{
		"1 of 3 goals are met",
		"| [outbox](#outbox-cursor-outbox-on-postgresql) | drain / a peer | ≥ 12 × | 150,000 / 10,000 events/s | 15.0 × | yes |",
		"| p99 latency / a peer | ≤ 1 × | 14.0 / 10.0 ms | 1.40 × | **no** |",
		"| append's part | < 0.1 of its time | – | – | not measured |",
		"**Missed:** p99 latency / a peer is 1.40 × (14.0 / 10.0 ms); the goal is ≤ 1 ×.",
		"**Not measured:** append's part",
		"| an empty round trip | 0.031 of its time | – |",
	} {
		assert.Containsf(t, text, want, "%q is missing in\n%s", want, text)
	}
}

func TestMarks(t *testing.T) {
	all := example()
	plain := string(made(t, all).Text)
	if strings.Contains(plain, "quick run") || strings.Contains(plain, "no commit has") {
		t.Error("a run that is neither is marked")
	}
	all[0].Result.Environment.Dirty, all[1].Result.Quick = true, true
	p := made(t, all)
	if text := string(p.Text); !strings.Contains(text, "yes (dirty tree)") || !strings.Contains(text, "no commit has") || !strings.Contains(text, "A quick run") {
		t.Error(text)
	}
	assert.True(t, bytes.Contains(p.Plots["growth-outbox-rate.svg"], []byte("QUICK RUN")), "the plot of a quick run does not say so")
}

func TestUnmeasured(t *testing.T) {
	all := example()
	assert.Contains(t, string(made(t, all).Text), "Not measured yet. To measure it: `make bench ONLY=queue`")
	for i := range all {
		all[i].Measured = false
	}
	if p := made(t, all); !bytes.Contains(p.Text, []byte("No claim has been measured yet.")) || len(p.Plots) > 0 {
		t.Errorf("%s", p.Text)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	p := made(t, example())
	require.NoError(t, p.Write(dir))
	assert.NoError(t, p.Differs(dir))
	one := made(t, example()[:1])
	require.NoError(t, one.Write(dir))
	left, err := filepath.Glob(filepath.Join(dir, "plots", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestDiffers(t *testing.T) {
	p := made(t, example())
	for says, spoil := range map[string]func(dir string) error{
		"REPORT.md is not that":                          func(dir string) error { return os.WriteFile(filepath.Join(dir, "REPORT.md"), []byte("better"), 0o600) },
		"REPORT.md is missing":                           func(dir string) error { return os.Remove(filepath.Join(dir, "REPORT.md")) },
		filepath.Join("plots", "outbox-drain.svg"):       func(dir string) error { return os.Remove(filepath.Join(dir, "plots", "outbox-drain.svg")) },
		filepath.Join("plots", "x.svg is of no section"): func(dir string) error { return os.WriteFile(filepath.Join(dir, "plots", "x.svg"), nil, 0o600) },
	} {
		dir := t.TempDir()
		require.NoError(t, p.Write(dir))
		require.NoError(t, spoil(dir))
		if err := p.Differs(dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestRead(t *testing.T) {
	dir, all := t.TempDir(), example()
	require.NoError(t, report.Save(dir, all[0].Result))
	for i := range all {
		all[i].Measured = false
	}
	got, err := Read(dir, all)
	if err != nil || !got[0].Measured || got[1].Measured || len(got[0].Result.Claims) != 4 || all[0].Measured {
		t.Errorf("%v, %+v", err, got)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "queue.json"), []byte("{"), 0o600))
	if _, err := Read(dir, all); err == nil || !strings.Contains(err.Error(), "queue.json") {
		t.Errorf("%v", err)
	}
}

// A result that cannot be drawn is an error that names its section and chart.
func TestUndrawable(t *testing.T) {
	all := example()
	all[1].Result.Figures[0].X = 0
	if _, err := Make(all); err == nil || !strings.Contains(err.Error(), "section growth-outbox: chart rate") {
		t.Errorf("%v", err)
	}
}
