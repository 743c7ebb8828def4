package report

import (
	"fmt"
	"io"
	"slices"
)

// Recorder receives the output of a section: it prints, and keeps the figures and
// the claims. It is for one goroutine.
type Recorder struct {
	out      io.Writer
	section  Section
	progress func(round, of int)
}

// To makes a Recorder that prints to out.
func To(out io.Writer) *Recorder { return &Recorder{out: out} }

// OnRound makes the Recorder call fn at the beginning of each round.
func (r *Recorder) OnRound(fn func(round, of int)) { r.progress = fn }

// Write implements io.Writer. It prints, and keeps nothing.
func (r *Recorder) Write(p []byte) (int, error) { return r.out.Write(p) }

// Section is the record so far.
func (r *Recorder) Section() Section { return r.section }

// Round starts a round.
func (r *Recorder) Round(round, of int) {
	if r.progress != nil {
		r.progress(round, of)
	}
}

// Title prints the heading of a section's results, which has its settings.
func (r *Recorder) Title(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.section.Settings = append(r.section.Settings, text)
	fmt.Fprintf(r.out, "\n%s\n\n", text)
}

// Setting keeps a fact that the reader of a figure has to know.
func (r *Recorder) Setting(format string, args ...any) {
	r.section.Settings = append(r.section.Settings, fmt.Sprintf(format, args...))
}

// Chart adds a plot, which has the figures of its name.
func (r *Recorder) Chart(c Chart) { r.section.Charts = append(r.section.Charts, c) }

// Mark draws a goal into a chart of bars, such as a multiple of another bar.
func (r *Recorder) Mark(chart, label string, value float64) {
	for i := range r.section.Charts {
		if c := &r.section.Charts[i]; c.Name == chart {
			c.Goals = append(c.Goals, Mark{label, Number(value)})
		}
	}
}

// Figure adds a measured figure. The unit is that of its chart unless it has one.
func (r *Recorder) Figure(f Figure) {
	if f.Unit == "" {
		if i := slices.IndexFunc(r.section.Charts, func(c Chart) bool { return c.Name == f.Chart }); i >= 0 {
			f.Unit = r.section.Charts[i].Unit
		}
	}
	f.Median, f.Min, f.Max = unknown(), unknown(), unknown()
	if known := slices.DeleteFunc(slices.Clone(f.Rounds), func(n Number) bool { return !n.Known() }); len(known) > 0 {
		slices.Sort(known)
		f.Median, f.Min, f.Max = known[len(known)/2], known[0], known[len(known)-1]
	}
	r.section.Figures = append(r.section.Figures, f)
}

// Rounds are one figure of all rounds.
func Rounds[T any](all []T, of func(T) float64) []Number {
	values := make([]Number, len(all))
	for i, v := range all {
		values[i] = Number(of(v))
	}
	return values
}

// AtLeast claims that a measurement is not smaller than its goal.
func (r *Recorder) AtLeast(what string, got Measured, goal float64) {
	r.claim(what, got, ">=", goal, func(v float64) bool { return v >= goal })
}

// AtMost claims that a measurement is not larger than its goal.
func (r *Recorder) AtMost(what string, got Measured, goal float64) {
	r.claim(what, got, "<=", goal, func(v float64) bool { return v <= goal })
}

// Below claims that a measurement is smaller than its goal.
func (r *Recorder) Below(what string, got Measured, goal float64) {
	r.claim(what, got, "<", goal, func(v float64) bool { return v < goal })
}

// Exactly claims that a measurement equals its goal.
func (r *Recorder) Exactly(what string, got Measured, goal float64) {
	r.claim(what, got, "=", goal, func(v float64) bool { return v == goal })
}

// Told keeps a figure that has no goal.
func (r *Recorder) Told(what string, got Measured) {
	r.section.Claims = append(r.section.Claims, Claim{What: what, Measured: got, Goal: unknown(), Verdict: NoGoal})
	fmt.Fprintf(r.out, "%-58s %8s   goal none\n", what, text(got.judged()))
}

func (r *Recorder) claim(what string, got Measured, op string, goal float64, met func(float64) bool) {
	verdict := Missed
	switch v := got.judged(); {
	case !v.Known():
		verdict = Unmeasured
	case met(float64(v)):
		verdict = Met
	}
	r.section.Claims = append(r.section.Claims, Claim{What: what, Measured: got, Op: op, Goal: Number(goal), Verdict: verdict})
	fmt.Fprintf(r.out, "%-58s %8s   goal %-8s %s\n", what, text(got.judged()), fmt.Sprintf("%s %g", op, goal), verdict)
}

func text(n Number) string {
	if !n.Known() {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(n))
}
