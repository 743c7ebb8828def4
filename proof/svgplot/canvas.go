package svgplot

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// Role is the role of a measurement for the reader, which decides its colour.
type Role string

// The roles.
const (
	Ours  Role = "ours"
	Peer  Role = "peer"
	Limit Role = "limit" // of the engine underneath
)

const (
	width  = 760
	margin = 24
)

// style has a colour for each series, in light and in dark.
const style = `<style>
svg{--back:#ffffff;--edge:#d0d7de;--text:#1f2328;--soft:#59636e;--grid:#e4e8ec;--peer:#8c959f;--goal:#bc4c00;--s0:#0969da;--s1:#1a7f37;--s2:#8250df;--s3:#bf3989}
@media (prefers-color-scheme:dark){svg{--back:#0d1117;--edge:#3d444d;--text:#f0f6fc;--soft:#9198a1;--grid:#262c36;--peer:#6e7681;--goal:#f0883e;--s0:#58a6ff;--s1:#3fb950;--s2:#bc8cff;--s3:#f778ba}}
text{font:12px -apple-system,"Segoe UI","Noto Sans",Helvetica,Arial,sans-serif;fill:var(--text)}
.title{font-size:15px;font-weight:600}.soft{fill:var(--soft)}.back{fill:var(--back);stroke:var(--edge)}
.grid{stroke:var(--grid)}.axis{stroke:var(--soft)}.goal{stroke:var(--goal);stroke-width:1.5;stroke-dasharray:2 3}.goaltext{fill:var(--goal)}
.ours{fill:var(--s0)}.peer{fill:var(--peer)}.limit{fill:none;stroke:var(--goal);stroke-width:1.5}.spread{stroke:var(--text);stroke-width:1.2}
.line{fill:none;stroke-width:2}.dash{stroke-dasharray:6 4}
.c0{stroke:var(--s0)}.c1{stroke:var(--s1)}.c2{stroke:var(--s2)}.c3{stroke:var(--s3)}.cpeer{stroke:var(--peer)}.climit{stroke:var(--goal)}
.f0{fill:var(--s0)}.f1{fill:var(--s1)}.f2{fill:var(--s2)}.f3{fill:var(--s3)}.fpeer{fill:var(--peer)}.flimit{fill:var(--goal)}
</style>
`

// canvas collects the elements of a picture.
type canvas struct{ strings.Builder }

// open begins a picture with its frame, title and subtitle.
func (c *canvas) open(height float64, title, subtitle string) {
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%s" viewBox="0 0 %d %s" role="img">`+"\n", width, px(height), width, px(height))
	fmt.Fprintf(c, "<title>%s</title>\n%s", html.EscapeString(title), style)
	fmt.Fprintf(c, `<rect class="back" x="0.5" y="0.5" width="%d" height="%s" rx="6"/>`+"\n", width-1, px(height-1))
	c.text("title", margin, 30, "start", title)
	c.text("soft", margin, 48, "start", subtitle)
}

func (c *canvas) close() []byte {
	c.WriteString("</svg>\n")
	return []byte(c.String())
}

func (c *canvas) text(class string, x, y float64, anchor, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(c, `<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", class, px(x), px(y), anchor, html.EscapeString(text))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", class, px(x1), px(y1), px(x2), px(y2))
}

func (c *canvas) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(c, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n", class, px(x), px(y), px(w), px(h))
}

// px is a coordinate: two decimals at most, so that rounding on another machine
// changes no byte.
func px(v float64) string {
	text := strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
	if text == "-0" {
		return "0"
	}
	return text
}

// room is the approximate width of a text of 12 px; the fonts are the reader's.
func room(text string) float64 { return 6.6 * float64(len([]rune(text))) }

// Number is a value for people: three significant digits, thousands apart.
func Number(v float64) string {
	if v < 0 {
		return "-" + Number(-v)
	}
	switch {
	case v == 0:
		return "0"
	case v >= 99.95:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v >= 0.01:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// short is a number for an axis: 1, 10, 1 k, 2.5 M.
func short(v float64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if v >= unit.of {
			return strconv.FormatFloat(v/unit.of, 'g', 3, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
