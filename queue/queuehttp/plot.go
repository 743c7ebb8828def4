package queuehttp

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/millrace-go/millrace/queue"
)

const plotStyle = `body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;color:#1d2433;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.05rem;margin:1.6rem 0 .2rem}svg{width:100%;height:auto;display:block}
text{font:12px system-ui,sans-serif;fill:#4a5468}.axis{stroke:#c9cfda}.line{fill:none;stroke-width:2}
.key{margin:0;padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem}.key svg{width:1.6rem;height:.7rem;display:inline-block}
.a{stroke:#0b62d6}.b{stroke:#b3480b;stroke-dasharray:7 4}.c{stroke:#16794a;stroke-dasharray:2 4}
@media(max-width:40rem){text{font-size:24px}.line{stroke-width:4}}
@media(prefers-color-scheme:dark){body{color:#e7eaf0;background:#14181f}text{fill:#b4bccb}.axis{stroke:#3a4354}a{color:#8ab8ff}
.a{stroke:#6aa6ff}.b{stroke:#ff9e63}.c{stroke:#5fcf97}}`

var plotPolicy = func() string {
	sum := sha256.Sum256([]byte(plotStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// series is one line of a panel.
type series struct {
	name string
	of   func(queue.Minute) float64
}

// panel is a plot of some series over the same minutes.
type panel struct {
	title  string
	series []series
}

var panels = [...]panel{
	{"Came to the line, by minute", []series{
		{"joined", func(m queue.Minute) float64 { return float64(m.Joined) }},
		{"gone from the line", func(m queue.Minute) float64 { return float64(m.Gone) }},
		{"back to a kept place", func(m queue.Minute) float64 { return float64(m.Returned) }},
	}},
	{"Came in, by minute", []series{
		{"admitted", func(m queue.Minute) float64 { return float64(m.Admitted) }},
		{"of these, by the share of a lane", func(m queue.Minute) float64 { return float64(m.Laned) }},
	}},
	{"Inside, by minute", []series{
		{"turned up", func(m queue.Minute) float64 { return float64(m.TurnedUp) }},
		{"finished", func(m queue.Minute) float64 { return float64(m.Finished) }},
	}},
	{"In line, at the end of the minute", []series{
		{"waiting", func(m queue.Minute) float64 { return float64(m.Waiting) }},
		{"of these, among the returners", func(m queue.Minute) float64 { return float64(m.Returning) }},
	}},
	{"Left to sell, at the end of the minute", []series{
		{"stock", func(m queue.Minute) float64 {
			if m.Stock < 0 {
				return math.NaN() // not known
			}
			return float64(m.Stock)
		}},
	}},
	{"Minutes in line of those whose turn came", []series{
		{"median", func(m queue.Minute) float64 { return m.Median.Minutes() }},
		{"95 of 100 at most", func(m queue.Minute) float64 { return m.P95.Minutes() }},
	}},
}

// The sizes of a panel, in the units of its picture.
const (
	plotWidth, plotHeight = 900, 200
	plotLeft, plotRight   = 110, 10
	plotTop, plotBottom   = 16, 34
)

// plotPage is the page with all panels.
func plotPage(event string, minutes []queue.Minute) []byte {
	var b strings.Builder
	title := "Figures of " + html.EscapeString(event)
	fmt.Fprintf(&b, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>%s</title><style>%s</style><main><h1>%s</h1>", title, plotStyle, title)
	if len(minutes) == 0 {
		b.WriteString("<p>Nobody has come within the last twelve hours.</p>")
	} else {
		last := minutes[len(minutes)-1]
		fmt.Fprintf(&b, "<p>Up to %s UTC: %s waiting, %s inside.</p>", last.Start.Format("15:04"), count(float64(last.Waiting)), count(float64(last.Active)))
		for _, p := range panels {
			p.draw(&b, minutes)
		}
	}
	b.WriteString("</main></html>\n")
	return []byte(b.String())
}

func (p panel) draw(b *strings.Builder, minutes []queue.Minute) {
	if p.none(minutes) {
		return
	}
	top := 1.0
	for _, s := range p.series {
		for _, m := range minutes {
			if n := s.of(m); n > top { // and is a number
				top = n
			}
		}
	}
	top = roundUp(top)
	fmt.Fprintf(b, "<h2>%s</h2>", p.title)
	if len(p.series) > 1 {
		b.WriteString("<ul class=\"key\">")
		for i, s := range p.series {
			fmt.Fprintf(b, "<li><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"line %c\" d=\"M0 5H26\"/></svg> %s</li>", 'a'+i, s.name)
		}
		b.WriteString("</ul>")
	}
	fmt.Fprintf(b, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">", plotWidth, plotHeight, p.summary(minutes))
	for _, part := range [...]float64{0, 0.5, 1} {
		y := plotY(part)
		fmt.Fprintf(b, "<path class=\"axis\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>", plotLeft, y, plotWidth-plotRight, plotLeft-8, y+4, count(part*top))
	}
	every := max(1, (len(minutes)+5)/6)
	for i := 0; i < len(minutes); i += every {
		anchor := "middle"
		if i == 0 {
			anchor = "start"
		}
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>", plotX(i, len(minutes)), plotHeight-6, anchor, minutes[i].Start.Format("15:04"))
	}
	for i, s := range p.series {
		fmt.Fprintf(b, "<path class=\"line %c\" d=\"", 'a'+i)
		pen := 'M'
		for at, m := range minutes {
			n := s.of(m)
			if math.IsNaN(n) {
				pen = 'M'
				continue
			}
			fmt.Fprintf(b, "%c%.1f %.1f", pen, plotX(at, len(minutes)), plotY(n/top))
			pen = 'L'
		}
		if len(minutes) == 1 {
			b.WriteString("h4") // a minute alone would be no line
		}
		b.WriteString("\"/>")
	}
	b.WriteString("</svg>")
}

// none says that no figure of a panel is known.
func (p panel) none(minutes []queue.Minute) bool {
	for _, s := range p.series {
		for _, m := range minutes {
			if !math.IsNaN(s.of(m)) {
				return false
			}
		}
	}
	return true
}

// summary tells a panel to those who do not see it: each series' highest minute.
func (p panel) summary(minutes []queue.Minute) string {
	all := make([]string, len(p.series))
	for i, s := range p.series {
		best := minutes[0]
		for _, m := range minutes {
			if n := s.of(m); n > s.of(best) || math.IsNaN(s.of(best)) {
				best = m
			}
		}
		all[i] = fmt.Sprintf("%s: at most %s, at %s", s.name, count(s.of(best)), best.Start.Format("15:04"))
	}
	return strings.Join(all, "; ")
}

func plotX(i, n int) float64 {
	return plotLeft + float64(plotWidth-plotLeft-plotRight)*float64(i)/float64(max(1, n-1))
}

func plotY(part float64) float64 {
	return plotTop + (plotHeight-plotTop-plotBottom)*(1-part)
}

// roundUp is the next number of 1, 2 or 5 and zeros.
func roundUp(n float64) float64 {
	for unit := 1.0; ; unit *= 10 {
		for _, step := range [...]float64{1, 2, 5} {
			if step*unit >= n {
				return step * unit
			}
		}
	}
}

// count writes a number with thousands apart, and a decimal where it is small.
func count(n float64) string {
	if n != float64(int64(n)) {
		return fmt.Sprintf("%.1f", n)
	}
	text := fmt.Sprint(int64(n))
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
