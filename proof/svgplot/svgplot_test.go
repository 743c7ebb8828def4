package svgplot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// plots are those of the golden files.
func plots() map[string]interface{ SVG() ([]byte, error) } {
	growth := Lines{
		Title: "Draining a backlog", Subtitle: "medians of 3 rounds · PostgreSQL", X: "rows of backlog", Unit: "events/s",
	}
	for i, shards := range []string{"1 shard", "2 shards", "4 shards", "8 shards"} {
		line := Line{Label: shards, Role: Ours, Colour: i}
		for n, rows := range []float64{1e3, 1e4, 1e5, 1e6} {
			v := 50_000 * float64(i+1) * (1 + float64(n)/3)
			line.Points = append(line.Points, Point{rows, v, v * 0.9, v * 1.2})
		}
		growth.Lines = append(growth.Lines, line)
	}
	growth.Lines = append(growth.Lines, Line{Label: "limit: a read by primary key", Role: Limit, Colour: -1, Points: []Point{
		{1e3, 600_000, 0, 0}, {1e4, 700_000, 0, 0}, {1e5, 780_000, 0, 0}, {1e6, 760_000, 0, 0}}})
	return map[string]interface{ SVG() ([]byte, error) }{
		"bars": Bars{
			Title: "Draining an outbox", Subtitle: "medians of 5 rounds, whiskers from the worst to the best", Unit: "events/s",
			Bars: []Bar{
				{"millrace pgoutbox (defaults)", Ours, 354_000, 340_000, 371_000, "1.9 µs CPU"},
				{"River v0.51.0 (2,000 workers, fetch every 2 ms)", Peer, 19_700, 18_000, 20_100, "29 µs CPU"},
				{"a peer that was not there", Peer, math.NaN(), 0, 0, ""},
				{"limit: the same rows by primary key", Limit, 778_000, 770_000, 790_000, ""},
			},
			Goals: []Goal{{"12 × watermill-sql", 240_000}, {"0.45 × the limit", 350_100}},
		},
		"lines": growth,
		"narrow": Lines{Title: "A <narrow> range & one point", X: "processes", Unit: "bookings/s", Lines: []Line{
			{Label: `"quoted"`, Role: Peer, Points: []Point{{1, 120, 110, 130}, {2, 180, 0, 0}}}, {Label: "alone", Role: Limit, Colour: 2, Points: []Point{{2, 400, 0, 0}}},
		}},
	}
}

func TestGolden(t *testing.T) {
	for name, plot := range plots() {
		got, err := plot.SVG()
		require.NoError(t, err)
		path := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil { //nolint:gosec // a golden file is for everybody
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Truef(t, bytes.Equal(got, want), "%s has changed; look at it, and then: go test ./proof/svgplot -update", path)
	}
}

func TestWellFormed(t *testing.T) {
	for name, plot := range plots() {
		svg, err := plot.SVG()
		require.NoError(t, err)
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

var (
	across = regexp.MustCompile(` (?:x|x1|x2|cx)="(-?[0-9.]+)"`)
	down   = regexp.MustCompile(` (?:y|y1|y2|cy)="(-?[0-9.]+)"`)
	tall   = regexp.MustCompile(`<svg [^>]*height="([0-9.]+)"`)
)

func TestInside(t *testing.T) {
	for name, plot := range plots() {
		svg, err := plot.SVG()
		require.NoError(t, err)
		text := string(svg)
		height, err := strconv.ParseFloat(tall.FindStringSubmatch(text)[1], 64)
		require.NoError(t, err)
		for _, c := range []struct {
			of   *regexp.Regexp
			most float64
		}{{across, width}, {down, height}} {
			all := c.of.FindAllStringSubmatch(text, -1)
			if len(all) < 10 {
				t.Fatalf("%s: %d coordinates", name, len(all))
			}
			for _, found := range all {
				if v, err := strconv.ParseFloat(found[1], 64); err != nil || v < 0 || v > c.most {
					t.Errorf("%s: %s is outside of the picture", name, found[0])
				}
			}
		}
	}
}

func TestGoalsAndLimits(t *testing.T) {
	count := func(name, what string) int {
		svg, err := plots()[name].SVG()
		require.NoError(t, err)
		return strings.Count(string(svg), what)
	}
	for _, c := range []struct {
		plot, what string
		n          int
	}{
		{"bars", `<line class="goal"`, 4}, {"bars", "goal: 12 × watermill-sql (240,000 events/s)", 1}, {"bars", `class="limit"`, 1}, {"bars", `middle">a<`, 2}, {"bars", `middle">b<`, 2},
		{"lines", `<path class="line dash climit"`, 1}, {"lines", "limit: a read by primary key", 1}, {"narrow", `"line dash c2"`, 2},
	} {
		if got := count(c.plot, c.what); got != c.n {
			t.Errorf("%s has %q %d times, want %d", c.plot, c.what, got, c.n)
		}
	}
}

func TestNothing(t *testing.T) {
	for says, plot := range map[string]interface{ SVG() ([]byte, error) }{
		"no bars":          Bars{Title: "empty"},
		"no points":        Lines{Title: "empty", Lines: []Line{{Label: "a"}}},
		"axis has no 0":    Lines{Lines: []Line{{Points: []Point{{1, 0, 0, 0}}}}},
		"axis has no NaN":  Lines{Lines: []Line{{Points: []Point{{1, math.NaN(), 0, 0}}}}},
		"axis has no +Inf": Lines{Lines: []Line{{Points: []Point{{math.Inf(1), 1, 0, 0}}}}},
	} {
		if _, err := plot.SVG(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	svg, err := Bars{Title: "zeros", Bars: []Bar{{Label: "none"}, {Label: "unknown", Value: math.NaN()}}, Goals: []Goal{{"nothing", math.NaN()}}}.SVG()
	if err != nil || strings.Contains(string(svg), "NaN") || strings.Count(string(svg), "not measured") != 1 {
		t.Errorf("%v\n%s", err, svg)
	}
}

func TestNumber(t *testing.T) {
	for want, v := range map[string]float64{"0": 0, "0.001": 0.001, "0.250": 0.25, "0.104": 0.1041, "1.00": 0.9996, "7.13": 7.126, "12.3": 12.34, "354": 354.4, "1,234,568": 1_234_567.8, "-1,000": -1000} {
		assert.Equalf(t, want, Number(v), "%v", v)
	}
	for want, v := range map[string]float64{"1": 1, "1 k": 1000, "2.5 M": 2.5e6, "3 G": 3e9, "0.1": 0.1} {
		assert.Equalf(t, want, short(v), "%v", v)
	}
}
