package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	id := func(n int) int { return n }
	for _, c := range []struct {
		of   []int
		want int
	}{{nil, 0}, {[]int{7}, 7}, {[]int{9, 1, 5}, 5}} {
		assert.Equalf(t, c.want, Median(c.of, id), "median of %v", c.of)
	}
}

// A goal that cannot be missed proves nothing.
func TestGoals(t *testing.T) {
	type judge = func(r *Recorder, v Measured)
	atLeast := func(r *Recorder, v Measured) { r.AtLeast("it", v, 0.7) }
	atMost := func(r *Recorder, v Measured) { r.AtMost("it", v, 0.7) }
	below := func(r *Recorder, v Measured) { r.Below("it", v, 0.7) }
	exactly := func(r *Recorder, v Measured) { r.Exactly("it", v, 0.7) }
	for _, c := range []struct {
		judge judge
		got   float64
		goal  string
		want  string
	}{
		{atLeast, 0.69, ">= 0.7", Missed}, {atLeast, 0.7, ">= 0.7", Met}, {atLeast, 1, ">= 0.7", Met},
		{atMost, 0.71, "<= 0.7", Missed}, {atMost, 0.7, "<= 0.7", Met},
		{below, 0.7, "< 0.7", Missed}, {below, 0.69, "< 0.7", Met},
		{exactly, 0.69, "= 0.7", Missed}, {exactly, 0.7, "= 0.7", Met},
		{atLeast, math.NaN(), ">= 0.7", Unmeasured}, {atMost, math.Inf(-1), "<= 0.7", Unmeasured},
	} {
		var out strings.Builder
		r := To(&out)
		c.judge(r, Value(c.got, "ms"))
		if line := out.String(); !strings.Contains(line, "goal "+c.goal) || !strings.HasSuffix(line, " "+c.want+"\n") {
			t.Errorf("%v: %q", c.got, line)
		}
		if claims := r.Section().Claims; len(claims) != 1 || claims[0].Verdict != c.want || claims[0].OfRatio() {
			t.Errorf("%+v", claims)
		}
	}
}

// A peer that did nothing, in a run that is too small, is not beaten.
func TestNothingIsNoRatio(t *testing.T) {
	same := func(v float64) float64 { return v }
	for name, m := range map[string]Measured{
		"ratio": Ratio(5, 0, "ms"), "none": Ratio(0, 0, "ms"), "rounds": Between([]float64{5, 5}, []float64{0, 0}, same, "ms"), "no rounds": Between(nil, nil, same, ""),
	} {
		r := To(&strings.Builder{})
		r.AtMost(name, m, 10)
		if c := r.Section().Claims[0]; c.Verdict != Unmeasured || !c.OfRatio() {
			t.Errorf("%s: %+v", name, c)
		}
	}
	m := Between([]float64{10, 40, 30, 7}, []float64{10, 20, 10, 0}, same, "ms")
	if m.Ratio != 2 || m.Value != 30 || m.Beside != 10 {
		t.Errorf("%+v", m)
	}
	if m := Ratio(6, 3, ""); m.judged() != 2 {
		t.Errorf("%+v", m)
	}
}

func TestFigure(t *testing.T) {
	r := To(&strings.Builder{})
	r.Chart(Chart{Name: "drain", Unit: "events/s"})
	r.Figure(Figure{Chart: "drain", Name: "a", Rounds: Rounds([]int{9, 1, 5}, func(n int) float64 { return float64(n) })})
	r.Figure(Figure{Chart: "drain", Name: "b", Unit: "ms", Rounds: []Number{unknown()}})
	all := r.Section().Figures
	if f := all[0]; f.Median != 5 || f.Min != 1 || f.Max != 9 || f.Unit != "events/s" || f.Rounds[0] != 9 {
		t.Errorf("%+v", f)
	}
	if f := all[1]; f.Median.Known() || f.Max.Known() || f.Unit != "ms" {
		t.Errorf("%+v", f)
	}
}

func TestRoundsAreTold(t *testing.T) {
	r := To(&strings.Builder{})
	r.Round(1, 2) // no listener
	var told []int
	r.OnRound(func(round, of int) { told = append(told, round, of) })
	r.Round(2, 2)
	assert.Truef(t, reflect.DeepEqual(told, []int{2, 2}), "%v", told)
}

// example is a section with all fields.
func example() Section {
	r := To(&strings.Builder{})
	r.Title("medians of %d rounds", 3)
	r.Chart(Chart{Name: "drain", Title: "Drain", Unit: "events/s"})
	r.Mark("drain", "12 × peer", 1200)
	r.Mark("no such chart", "12 × peer", 1200)
	r.Figure(Figure{Chart: "drain", Name: "ours", Role: Ours, Rounds: []Number{1500.123456789, 1400}, CPU: 1.5})
	r.AtLeast("drain / peer", Ratio(1500, 100, "events/s"), 12)
	r.AtLeast("nothing", Value(math.NaN(), ""), 12)
	s := r.Section()
	s.Name = "drain"
	s.Environment = Environment{Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Commit: "abc", Servers: map[string]string{"PostgreSQL": "15"}}
	return s
}

func TestSaveAndLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	if _, ok, err := Load(dir, "drain"); ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	want := example()
	require.NoError(t, Save(dir, want))
	got, ok, err := Load(dir, "drain")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if len(got.Charts[0].Goals) != 1 || got.Figures[0].Rounds[0] != 1500.12 || got.Claims[1].Value.Known() || got.Claims[1].Verdict != Unmeasured {
		t.Errorf("%+v", got)
	}
	want.Format = Format
	a, err := json.Marshal(want)
	require.NoError(t, err)
	b, err := json.Marshal(got)
	if err != nil || string(a) != string(b) {
		t.Errorf("%v\n%s\n%s", err, a, b)
	}
}

func TestSaveReplacesOne(t *testing.T) {
	dir := t.TempDir()
	s := example()
	for _, name := range []string{"one", "two"} {
		s.Name = name
		require.NoError(t, Save(dir, s))
	}
	s.Seconds = 7
	require.NoError(t, Save(dir, s))
	one, _, _ := Load(dir, "one")
	two, _, _ := Load(dir, "two")
	if one.Seconds != 0 || two.Seconds != 7 {
		t.Errorf("%v, %v", one.Seconds, two.Seconds)
	}
	// A result that cannot be put in its place leaves nothing behind.
	require.NoError(t, os.Mkdir(filepath.Join(dir, "three.json"), 0o750))
	s.Name = "three"
	assert.Error(t, Save(dir, s), "a folder was replaced")
	left, err := filepath.Glob(filepath.Join(dir, ".saving-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	for says, text := range map[string]string{"format 0": `{"name":"a"}`, `section "b"`: `{"format":1,"name":"b"}`, "unexpected end": `{`, "invalid syntax": `{"figures":[{"median":"x"}]}`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.json"), []byte(text), 0o600))
		if _, _, err := Load(dir, "a"); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "a.json") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestCPU(t *testing.T) {
	before := CPU()
	for start := time.Now(); CPU()-before < 5*time.Millisecond; {
		if time.Since(start) > 10*time.Second {
			t.Fatal("no processor time was counted")
		}
	}
}

func TestInterleave(t *testing.T) {
	var said bytes.Buffer
	var order []string
	broken := errors.New("broken")
	measure := func(round int, name string) (int, string, error) {
		order = append(order, name)
		if round == 4 {
			return 0, "", broken
		}
		return round, "of " + name, nil
	}
	got, err := Interleave(To(&said), 3, []string{"a", "b"}, measure)
	if err != nil || !reflect.DeepEqual(got, map[string][]int{"a": {1, 2, 3}, "b": {1, 2, 3}}) || strings.Join(order, "") != "abbaab" {
		t.Errorf("%v, %v, in the order %v", got, err, order)
	}
	if !strings.HasPrefix(said.String(), "round 1  of a\nround 1  of b\nround 2  of b\n") {
		t.Error(said.String())
	}
	if _, err := Interleave(To(&said), 4, []string{"a", "b"}, measure); !errors.Is(err, broken) || !strings.Contains(err.Error(), "round 4: b: ") {
		t.Error(err)
	}
}
