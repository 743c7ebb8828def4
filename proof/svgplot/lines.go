package svgplot

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Lines is a plot of lines on two logarithmic axes.
type Lines struct {
	Title    string
	Subtitle string
	X        string // the growing quantity: "rows of backlog"
	Unit     string // of the values: "events/s"
	Lines    []Line
}

// Line is a series of points.
type Line struct {
	Label  string
	Role   Role
	Colour int // of those that ours have, 0 to 3; a limit of the same colour is its dashed twin, of -1 the common one
	Points []Point
}

// Point is a measurement at an amount of work. Low and High are the extremes of the
// rounds.
type Point struct{ X, Value, Low, High float64 }

const (
	lineTop    = 84
	lineLeft   = 74
	lineHeight = 320
	legendRow  = 20
)

// axis maps values to coordinates by their logarithm.
type axis struct{ low, high, from, to float64 }

func (a axis) at(v float64) float64 {
	if a.high == a.low {
		return (a.from + a.to) / 2
	}
	return a.from + (a.to-a.from)*(math.Log10(v)-a.low)/(a.high-a.low)
}

// SVG draws the plot.
func (l Lines) SVG() ([]byte, error) {
	var xs, ys []float64
	for _, line := range l.Lines {
		for _, p := range line.Points {
			for _, v := range []float64{p.X, p.Value} {
				if !drawable(v) || v == 0 {
					return nil, fmt.Errorf("svgplot: %q, %s: a logarithmic axis has no %g; leave what was not measured out", l.Title, line.Label, v)
				}
			}
			xs, ys = append(xs, p.X), append(ys, p.Value)
			if p.Low > 0 && p.High >= p.Low && drawable(p.High) {
				ys = append(ys, p.Low, p.High)
			}
		}
	}
	if len(xs) == 0 {
		return nil, fmt.Errorf("svgplot: %q has no points", l.Title)
	}
	columns := l.columns()
	legend := (len(l.Lines) + columns - 1) / columns
	bottom := float64(lineTop + lineHeight)
	var c canvas
	c.open(bottom+52+legendRow*float64(legend)+8, l.Title, l.Subtitle)
	slices.Sort(xs)
	xs = slices.Compact(xs)
	x := axis{math.Log10(xs[0]), math.Log10(xs[len(xs)-1]), lineLeft + 12, width - margin - 12}
	// A whole power of ten below and above, or the ends of a narrow range.
	low, high := math.Log10(slices.Min(ys)), math.Log10(slices.Max(ys))
	y := axis{math.Floor(low + 1e-9), math.Ceil(high - 1e-9), bottom, lineTop}
	if y.high <= y.low {
		y.high = y.low + 1
	}
	c.grid(x, y, xs)
	c.text("soft", lineLeft, lineTop-12, "start", l.Unit)
	c.text("soft", (lineLeft+width-margin)/2, bottom+38, "middle", l.X)
	for i, line := range l.Lines {
		c.series(line, x, y)
		left := margin + float64(i%columns)*(width-2*margin)/float64(columns)
		row := bottom + 60 + legendRow*float64(i/columns)
		stroke, fill := line.classes()
		c.line(stroke, left, row-4, left+26, row-4)
		c.mark(fill, line.shape(), left+13, row-4)
		c.text("", left+34, row, "start", line.Label)
	}
	return c.close(), nil
}

// columns of the legend: as many as the longest label leaves room for.
func (l Lines) columns() int {
	longest := 0.0
	for _, line := range l.Lines {
		longest = max(longest, room(line.Label))
	}
	return min(4, max(1, int((width-2*margin)/(longest+46))))
}

func (c *canvas) grid(x, y axis, xs []float64) {
	for power := y.low; power <= y.high; power++ {
		v := math.Pow(10, power)
		c.line("grid", lineLeft, y.at(v), width-margin, y.at(v))
		c.text("soft", lineLeft-8, y.at(v)+4, "end", short(v))
		for _, part := range []float64{2, 5} {
			if power == y.high || y.high-y.low > 2 {
				break
			}
			c.line("grid", lineLeft, y.at(part*v), width-margin, y.at(part*v))
			c.text("soft", lineLeft-8, y.at(part*v)+4, "end", short(part*v))
		}
	}
	last := math.Inf(-1)
	for _, v := range xs {
		c.line("axis", x.at(v), y.from, x.at(v), y.from+4)
		if x.at(v)-last < room("100 k") {
			continue // there is no room for another label
		}
		last = x.at(v)
		c.text("soft", last, y.from+18, "middle", short(v))
	}
	c.line("axis", lineLeft, y.from, width-margin, y.from)
}

func (line Line) classes() (stroke, fill string) {
	switch {
	case line.Role == Limit && line.Colour < 0:
		return "line dash climit", "flimit"
	case line.Role == Limit:
		return fmt.Sprintf("line dash c%d", line.Colour%4), fmt.Sprintf("f%d", line.Colour%4)
	case line.Role == Peer:
		return "line cpeer", "fpeer"
	}
	return fmt.Sprintf("line c%d", max(0, line.Colour)%4), fmt.Sprintf("f%d", max(0, line.Colour)%4)
}

// shape distinguishes lines for readers who don't see the colours. A limit has
// none, unless it is a single point and would otherwise be invisible.
func (line Line) shape() int {
	if line.Role == Limit && len(line.Points) > 1 {
		return -1
	}
	return max(0, line.Colour) % 4
}

func (c *canvas) series(line Line, x, y axis) {
	stroke, fill := line.classes()
	var path strings.Builder
	for i, p := range line.Points {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		fmt.Fprintf(&path, "%s%s %s", letter, px(x.at(p.X)), px(y.at(p.Value)))
	}
	fmt.Fprintf(c, `<path class="%s" d="%s"/>`+"\n", stroke, path.String())
	for _, p := range line.Points {
		if p.Low > 0 && p.High > p.Low && line.Role != Limit {
			c.line(strings.Replace(stroke, "line ", "", 1), x.at(p.X), y.at(p.Low), x.at(p.X), y.at(p.High))
		}
		c.mark(fill, line.shape(), x.at(p.X), y.at(p.Value))
	}
}

// mark draws one of the shapes; none for -1.
func (c *canvas) mark(class string, shape int, x, y float64) {
	switch shape {
	case 0:
		fmt.Fprintf(c, `<circle class="%s" cx="%s" cy="%s" r="4"/>`+"\n", class, px(x), px(y))
	case 1:
		c.rect(class, x-3.5, y-3.5, 7, 7)
	case 2:
		fmt.Fprintf(c, `<path class="%s" d="M%s %sL%s %sL%s %sZ"/>`+"\n", class, px(x), px(y-5), px(x+5), px(y+4), px(x-5), px(y+4))
	case 3:
		fmt.Fprintf(c, `<path class="%s" d="M%s %sL%s %sL%s %sL%s %sZ"/>`+"\n", class, px(x), px(y-5), px(x+5), px(y), px(x), px(y+5), px(x-5), px(y))
	}
}
