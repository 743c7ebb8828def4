package report

import (
	"math"
	"strconv"
	"time"
)

// Format of a saved section. It changes when a saved field gets another meaning.
const Format = 1

// Role is the role of a figure for the reader.
type Role string

// The roles.
const (
	Ours  Role = "ours"
	Peer  Role = "peer"
	Limit Role = "limit" // of the engine underneath
)

// Section is the result of one run of a section.
type Section struct {
	Format      int         `json:"format"`
	Name        string      `json:"name"`
	Title       string      `json:"title"`
	Quick       bool        `json:"quick"` // a run that checks the harness, without figures worth reading
	Seconds     float64     `json:"seconds"`
	Settings    []string    `json:"settings"`
	Charts      []Chart     `json:"charts"`
	Figures     []Figure    `json:"figures"`
	Claims      []Claim     `json:"claims"`
	Environment Environment `json:"environment"`
}

// Chart is a plot of figures.
type Chart struct {
	Name  string `json:"name"` // of its file, and of the figures that are in it
	Title string `json:"title"`
	Unit  string `json:"unit"`
	Note  string `json:"note,omitempty"`
	X     string `json:"x,omitempty"` // the growing quantity; "" for bars
	Goals []Mark `json:"goals,omitempty"`
}

// Mark is a goal that is drawn into a chart of bars.
type Mark struct {
	Label string `json:"label"`
	Value Number `json:"value"`
}

// Figure is one measured quantity, once in each round.
type Figure struct {
	Chart  string   `json:"chart"`
	Name   string   `json:"name"` // its subject; in a chart of lines, the line
	Role   Role     `json:"role"`
	Colour int      `json:"colour,omitempty"` // of a line, 0 to 3; a limit's dashed twin has the same; -1 is the common one
	X      Number   `json:"x,omitempty"`      // how much work, in a chart of lines
	Unit   string   `json:"unit"`
	Rounds []Number `json:"rounds"`
	Median Number   `json:"median"`
	Min    Number   `json:"min"`
	Max    Number   `json:"max"`
	// CPU and EngineCPU are the median processor times, in µs per operation, of the
	// process that is measured and of the engine underneath; zero when not measured.
	CPU       Number `json:"cpu_us,omitempty"`
	EngineCPU Number `json:"engine_cpu_us,omitempty"`
}

// The verdicts on a claim.
const (
	Met        = "met"
	Missed     = "MISSED"
	Unmeasured = "not measured" // the run was too small to say
	NoGoal     = ""
)

// Claim is a promise of the project, and its result.
type Claim struct {
	What string `json:"what"`
	// Of, Value, Beside and Ratio: see [Measured].
	Measured
	Op      string `json:"op,omitempty"` // >=, <=, < or =; "" without a goal
	Goal    Number `json:"goal,omitempty"`
	Verdict string `json:"verdict"`
}

// Measured is a figure, or a ratio of two. Not measured is not a number.
type Measured struct {
	Value  Number `json:"value"`  // ours
	Beside Number `json:"beside"` // the peer's or the engine's
	Unit   string `json:"unit,omitempty"`
	Ratio  Number `json:"ratio"` // Value to Beside, or the median of the rounds' ratios
}

// Value is a figure by itself.
func Value(v float64, unit string) Measured {
	return Measured{Value: Number(v), Unit: unit, Beside: unknown(), Ratio: unknown()}
}

// Ratio is ours beside theirs. There is no ratio when theirs is zero, as happens in
// a run that is too small to be measured.
func Ratio(ours, theirs float64, unit string) Measured {
	// Divided by zero the ratio is not a number, and so not measured.
	return Measured{Value: Number(ours), Beside: Number(theirs), Unit: unit, Ratio: Number(ours / theirs)}
}

// Between is ours beside theirs, each a median of the rounds, with the median of
// the ratios within each round: a disturbed round disturbs both. Rounds in which
// theirs is zero have no ratio.
func Between[T any](ours, theirs []T, of func(T) float64, unit string) Measured {
	m := Measured{Value: Number(Median(ours, of)), Beside: Number(Median(theirs, of)), Unit: unit, Ratio: unknown()}
	var ratios []float64
	for i := range min(len(ours), len(theirs)) {
		if b := of(theirs[i]); b != 0 {
			ratios = append(ratios, of(ours[i])/b)
		}
	}
	if len(ratios) > 0 {
		m.Ratio = Number(Median(ratios, func(r float64) float64 { return r }))
	}
	return m
}

// judged is the figure that a goal is about: the ratio of two, or the value of one.
func (m Measured) judged() Number {
	if m.Ratio.Known() || m.Beside.Known() {
		return m.Ratio
	}
	return m.Value
}

// Judged is the figure that a goal is about.
func (c Claim) Judged() Number { return c.judged() }

// OfRatio reports whether the goal is about a ratio.
func (c Claim) OfRatio() bool { return c.Ratio.Known() || c.Beside.Known() }

// Environment is where and when a measurement was taken.
type Environment struct {
	Date    time.Time         `json:"date"`
	Commit  string            `json:"commit"`
	Dirty   bool              `json:"dirty"` // the tree had changes that no commit has
	Go      string            `json:"go"`
	System  string            `json:"system"`
	Kernel  string            `json:"kernel"`
	CPU     string            `json:"cpu"`
	Cores   int               `json:"cores"`
	Memory  string            `json:"memory"`
	Load    string            `json:"load"` // of the last minute, before the section began
	Servers map[string]string `json:"servers"`
}

// Number is a figure that may be unknown: not a number, which JSON has as null.
type Number float64

func unknown() Number { return Number(math.NaN()) }

// Known reports whether it is a number.
func (n Number) Known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON implements json.Marshaler: six significant digits are more than any
// of these figures has.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Known() {
		return []byte("null"), nil
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(float64(n), 'g', 6, 64), 64)
	if err != nil {
		return nil, err
	}
	return strconv.AppendFloat(nil, rounded, 'f', -1, 64), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = unknown()
		return nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	*n = Number(v)
	return err
}
