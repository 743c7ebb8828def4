package page

import (
	"fmt"
	"math"
	"slices"

	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/proof/svgplot"
)

// draw draws a chart; nil when nothing of it was measured.
func draw(s report.Section, c report.Chart) ([]byte, error) {
	if c.X == "" {
		return drawBars(s, c)
	}
	return drawLines(s, c)
}

// note is the subtitle: the measured quantity, and the number of rounds.
func note(s report.Section, c report.Chart) string {
	rounds := 0
	for _, f := range s.Figures {
		if f.Chart == c.Name {
			rounds = max(rounds, len(f.Rounds))
		}
	}
	text := fmt.Sprintf("median of %d rounds", rounds)
	if rounds == 1 {
		text = "one round"
	}
	if c.Note != "" {
		text = c.Note + " · " + text
	}
	if s.Quick {
		text += " · QUICK RUN"
	}
	return text
}

func drawBars(s report.Section, c report.Chart) ([]byte, error) {
	plot := svgplot.Bars{Title: c.Title, Subtitle: note(s, c), Unit: c.Unit}
	for _, f := range s.Figures {
		if f.Chart == c.Name {
			plot.Bars = append(plot.Bars, svgplot.Bar{
				Label: f.Name, Role: svgplot.Role(f.Role), Value: float64(f.Median), Low: float64(f.Min), High: float64(f.Max), Note: cpu(f),
			})
		}
	}
	for _, g := range c.Goals {
		plot.Goals = append(plot.Goals, svgplot.Goal{Label: g.Label, Value: float64(g.Value)})
	}
	if !slices.ContainsFunc(plot.Bars, func(b svgplot.Bar) bool { return !math.IsNaN(b.Value) }) {
		return nil, nil
	}
	return plot.SVG()
}

// cpu is the cost of an operation, behind its bar.
func cpu(f report.Figure) string {
	switch {
	case f.CPU > 0 && f.EngineCPU > 0:
		return fmt.Sprintf("%s + %s µs CPU", number(f.CPU, ""), number(f.EngineCPU, ""))
	case f.CPU > 0:
		return number(f.CPU, "µs CPU")
	case f.EngineCPU > 0:
		return number(f.EngineCPU, "µs CPU")
	}
	return ""
}

func drawLines(s report.Section, c report.Chart) ([]byte, error) {
	plot := svgplot.Lines{Title: c.Title, Subtitle: note(s, c), X: c.X, Unit: c.Unit}
	for _, f := range s.Figures {
		// A logarithmic axis has no zero: unmeasured figures are left out.
		if f.Chart != c.Name || !f.Median.Known() || f.Median <= 0 {
			continue
		}
		i := slices.IndexFunc(plot.Lines, func(l svgplot.Line) bool { return l.Label == f.Name })
		if i < 0 {
			i = len(plot.Lines)
			plot.Lines = append(plot.Lines, svgplot.Line{Label: f.Name, Role: svgplot.Role(f.Role), Colour: f.Colour})
		}
		plot.Lines[i].Points = append(plot.Lines[i].Points, svgplot.Point{X: float64(f.X), Value: float64(f.Median), Low: float64(f.Min), High: float64(f.Max)})
	}
	if len(plot.Lines) == 0 {
		return nil, nil
	}
	return plot.SVG()
}
