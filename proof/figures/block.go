package figures

import (
	"embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/template"

	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/proof/svgplot"
)

//go:embed blocks/*.md
var blocks embed.FS

// Block makes the text of a block.
func (s *Set) Block(name string) (string, error) {
	text, err := blocks.ReadFile("blocks/" + name + ".md")
	if err != nil {
		return "", fmt.Errorf("there is no block %q", name)
	}
	return s.render(name, string(text))
}

func (s *Set) render(name, text string) (string, error) {
	t, err := template.New(name).Funcs(s.functions()).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, nil); err != nil {
		return "", err
	}
	return b.String(), nil
}

// functions are the functions of a template. A claim and a figure go by the names that
// the report has.
func (s *Set) functions() template.FuncMap {
	ofClaim := func(read func(report.Claim) string) func(section, what string) (string, error) {
		return func(section, what string) (string, error) {
			c, err := s.claim(section, what)
			if err != nil {
				return "", err
			}
			return read(c), nil
		}
	}
	ofFigure := func(read func(report.Figure) report.Number) func(section, chart, name string) (string, error) {
		return func(section, chart, name string) (string, error) {
			f, err := s.figure(section, chart, name)
			if err != nil {
				return "", err
			}
			return number(read(f)), nil
		}
	}
	return template.FuncMap{
		// ours and theirs are the two of a claim, ratio the one to the other.
		"ours":   ofClaim(func(c report.Claim) string { return bold(!c.OfRatio() && c.Verdict == report.Missed, number(c.Value)) }),
		"theirs": ofClaim(func(c report.Claim) string { return number(c.Beside) }),
		"ratio":  ofClaim(func(c report.Claim) string { return bold(missed(c), number(c.Ratio)) }),
		"goal":   ofClaim(func(c report.Claim) string { return number(c.Goal) }),
		// times is the ratio of ours to theirs, for readers who want no bold type.
		"times": ofClaim(func(c report.Claim) string { return number(c.Ratio) }),
		// percent is of a claim about a part.
		"percent": ofClaim(func(c report.Claim) string {
			return bold(c.Verdict == report.Missed, number(c.Value*100)+" %")
		}),
		"figure": ofFigure(func(f report.Figure) report.Number { return f.Median }),
		"cpu":    ofFigure(func(f report.Figure) report.Number { return f.CPU }),
		"proof":  s.proof,
	}
}

// missed reports whether a ratio misses its goal, or where there is none, whether the
// peer is better: with more in a second, or in less time.
func missed(c report.Claim) bool {
	if c.Op != "" {
		return c.Verdict == report.Missed
	}
	if c.Unit == "ms" || c.Unit == "µs" {
		return c.Ratio > 1
	}
	return c.Ratio < 1
}

func bold(is bool, text string) string {
	if is {
		return "**" + text + "**"
	}
	return text
}

// number has three significant digits, thousands apart.
func number(n report.Number) string {
	if !n.Known() {
		return "–"
	}
	v := float64(n)
	if v >= 1000 {
		unit := math.Pow(10, math.Floor(math.Log10(v))-2)
		return svgplot.Number(math.Round(v/unit) * unit)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return "–" // it was formatted in the line above
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
