package svgplot

import (
	"fmt"
	"math"
)

// Bars is a plot of horizontal bars, one below the other.
type Bars struct {
	Title    string
	Subtitle string // the measured quantity, and the method
	Unit     string // of all values
	Bars     []Bar
	Goals    []Goal
}

// Bar is one of the measured systems.
type Bar struct {
	Label string
	Role  Role
	// Value is drawn; Low and High are the extremes of the rounds. A Value that is
	// not a number was not measured.
	Value, Low, High float64
	Note             string // behind the value, such as the processor time
}

// Goal is a value that ours should reach, drawn across the bars.
type Goal struct {
	Label string
	Value float64
}

const (
	barTop    = 74
	barRow    = 46
	barHeight = 14
	barNote   = 236 // room for the value and its note at the right
)

// SVG draws the plot.
func (b Bars) SVG() ([]byte, error) {
	if len(b.Bars) == 0 {
		return nil, fmt.Errorf("svgplot: %q has no bars", b.Title)
	}
	most := 0.0
	for _, bar := range b.Bars {
		for _, v := range []float64{bar.Value, bar.High} {
			if drawable(v) {
				most = max(most, v)
			}
		}
	}
	for _, g := range b.Goals {
		if drawable(g.Value) {
			most = max(most, g.Value)
		}
	}
	if most == 0 {
		most = 1 // nothing but zeros: bars without length
	}
	var c canvas
	bottom := barTop + barRow*float64(len(b.Bars))
	height := bottom + 34 + 18*float64(len(b.Goals))
	subtitle := b.Unit
	if b.Subtitle != "" {
		subtitle += " · " + b.Subtitle
	}
	c.open(height, b.Title, subtitle)
	at := func(v float64) float64 { return margin + (width-2*margin-barNote)*min(v, most)/most }
	step := nice(most)
	for v := 0.0; v <= most*1.0001; v += step {
		c.line("grid", at(v), barTop-6, at(v), bottom)
		c.text("soft", at(v), bottom+16, "middle", short(v))
	}
	for i, bar := range b.Bars {
		c.bar(bar, barTop+barRow*float64(i), at)
	}
	for i, g := range b.Goals {
		if !drawable(g.Value) {
			continue
		}
		y := bottom + 34 + 18*float64(i)
		c.line("goal", at(g.Value), barTop-2, at(g.Value), bottom)
		mark := string(rune('a' + i%26)) // which line it is
		c.text("goaltext", at(g.Value), barTop-6, "middle", mark)
		c.text("goaltext", margin+6, y, "middle", mark)
		c.line("goal", margin+14, y-4, margin+32, y-4)
		c.text("goaltext", margin+40, y, "start", fmt.Sprintf("goal: %s (%s %s)", g.Label, Number(g.Value), b.Unit))
	}
	return c.close(), nil
}

func (c *canvas) bar(bar Bar, y float64, at func(float64) float64) {
	c.text("", margin, y+10, "start", bar.Label)
	if !drawable(bar.Value) {
		c.text("soft", margin, y+18+barHeight-3, "start", "not measured")
		return
	}
	class := "peer"
	switch bar.Role {
	case Ours:
		class = "ours"
	case Limit:
		class = "limit"
	}
	c.rect(class, margin, y+17, at(bar.Value)-margin, barHeight)
	end := at(bar.Value)
	if drawable(bar.Low) && drawable(bar.High) && bar.High > bar.Low {
		middle := y + 17 + barHeight/2.0
		c.line("spread", at(bar.Low), middle, at(bar.High), middle)
		for _, v := range []float64{bar.Low, bar.High} {
			c.line("spread", at(v), middle-3, at(v), middle+3)
		}
		end = max(end, at(bar.High))
	}
	text := Number(bar.Value)
	c.text("", end+8, y+17+barHeight-3, "start", text)
	c.text("soft", end+8+room(text)+8, y+17+barHeight-3, "start", bar.Note)
}

func drawable(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) && v >= 0 }

// nice is a step of 1, 2 or 5 times a power of ten that cuts a length into two to
// five parts.
func nice(length float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(length)))
	for _, step := range []float64{0.2, 0.5, 1} {
		if length/(step*power) <= 5.0001 {
			return step * power
		}
	}
	return 2 * power
}
