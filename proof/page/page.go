package page

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/proof/svgplot"
)

// Entry is a section of the page.
type Entry struct {
	Name     string // of the section, and of its results
	Title    string
	Compared string // the systems compared, and the reason
	Repeat   string // the command
	Measured bool   // there is a Result
	Result   report.Section
}

// Page is the report with its plots, by the names of their files.
type Page struct {
	Text  []byte
	Plots map[string][]byte
}

const head = `# Benchmarks

This page is generated: ` + "`make bench`" + ` measures every section and writes it, ` + "`go run ./proof/cmd/bench -report`" + ` makes it
again of the saved results in [results/](results). Figures are medians of interleaved rounds: what disturbs the machine
disturbs everybody alike, and a ratio means more than a rate. A plot's whiskers reach from the worst round to the best.
Goals that are missed are said so, in the table and in their section.

`

// Make makes the page.
func Make(entries []Entry) (Page, error) {
	p := Page{Plots: map[string][]byte{}}
	var b bytes.Buffer
	b.WriteString(head)
	summary(&b, entries)
	for _, e := range entries {
		fmt.Fprintf(&b, "\n## %s: %s\n\n%s\n\n", e.Name, e.Title, e.Compared)
		if !e.Measured {
			fmt.Fprintf(&b, "Not measured yet. To measure it: `%s`\n", e.Repeat)
			continue
		}
		if err := p.section(&b, e); err != nil {
			return Page{}, fmt.Errorf("section %s: %w", e.Name, err)
		}
	}
	p.Text = b.Bytes()
	return p, nil
}

// summary is the table of all claims that have a goal.
func summary(b *bytes.Buffer, entries []Entry) {
	claims, missed := 0, 0
	var rows bytes.Buffer
	for _, e := range entries {
		for _, c := range e.Result.Claims {
			if c.Op == "" || !e.Measured {
				continue
			}
			claims++
			if c.Verdict != report.Met {
				missed++
			}
			fmt.Fprintf(&rows, "| [%s](#%s) | %s | %s | %s | %s | %s |\n", e.Name, anchor(e), strings.TrimSpace(c.What), goal(c), figure(c), ratio(c), verdict(c)+mark(e))
		}
	}
	if claims == 0 {
		b.WriteString("No claim has been measured yet.\n")
		return
	}
	fmt.Fprintf(b, "## Summary\n\n%d of %d goals are met.\n\n| section | claim | goal | figure | ratio | met? |\n| --- | --- | --- | --- | --- | --- |\n%s", claims-missed, claims, &rows)
}

// anchor is GitHub's anchor of the section's heading.
func anchor(e Entry) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z':
			return r
		}
		return -1
	}, strings.ToLower(e.Name+": "+e.Title))
}

// mark says that a row's figures are not reliable.
func mark(e Entry) string {
	switch {
	case e.Result.Quick:
		return " (quick run)"
	case e.Result.Environment.Dirty:
		return " (dirty tree)"
	}
	return ""
}

func verdict(c report.Claim) string {
	switch c.Verdict {
	case report.Met:
		return "yes"
	case report.Missed:
		return "**no**"
	}
	return c.Verdict
}

func goal(c report.Claim) string {
	sign := map[string]string{">=": "≥", "<=": "≤"}[c.Op]
	if sign == "" {
		sign = c.Op
	}
	if c.OfRatio() {
		return fmt.Sprintf("%s %g ×", sign, float64(c.Goal))
	}
	return strings.TrimSpace(fmt.Sprintf("%s %g %s", sign, float64(c.Goal), c.Unit))
}

func number(n report.Number, unit string) string {
	if !n.Known() {
		return "–"
	}
	return strings.TrimSpace(svgplot.Number(float64(n)) + " " + unit)
}

// figure is our figure, beside theirs when there are two.
func figure(c report.Claim) string {
	if c.Beside.Known() {
		return number(c.Value, "") + " / " + number(c.Beside, c.Unit)
	}
	return number(c.Value, c.Unit)
}

func ratio(c report.Claim) string {
	if !c.OfRatio() {
		return "–"
	}
	return number(c.Ratio, "×")
}

func (p Page) section(b *bytes.Buffer, e Entry) error {
	s := e.Result
	if s.Quick {
		b.WriteString("**A quick run: it shows that all works, and no figure worth reading.**\n\n")
	}
	if s.Environment.Dirty {
		b.WriteString("**Measured on a tree with changes that no commit has; nobody can repeat it.**\n\n")
	}
	for _, c := range s.Charts {
		svg, err := draw(s, c)
		if err != nil {
			return fmt.Errorf("chart %s: %w", c.Name, err)
		}
		if svg == nil {
			continue
		}
		file := e.Name + "-" + c.Name + ".svg"
		p.Plots[file] = svg
		fmt.Fprintf(b, "![%s](plots/%s)\n\n", c.Title, file)
	}
	misses(b, s)
	figures(b, s)
	told(b, s)
	fmt.Fprintf(b, "Settings: %s.\n\n", strings.Join(s.Settings, ". "))
	v := s.Environment
	fmt.Fprintf(b, "Measured on %s at commit `%s` in %.0f s, on %s with %d processors (%s), %s, Linux %s, %s; load before it %s",
		v.Date.Format("2006-01-02 15:04 MST"), short(v.Commit), s.Seconds, v.System, v.Cores, v.CPU, v.Memory, v.Kernel, v.Go, v.Load)
	names := make([]string, 0, len(v.Servers))
	for name, version := range v.Servers {
		names = append(names, name+" "+version)
	}
	slices.Sort(names)
	if len(names) > 0 {
		fmt.Fprintf(b, "; %s", strings.Join(names, ", "))
	}
	fmt.Fprintf(b, ".\n\nRepeat: `%s`\n", e.Repeat)
	return nil
}

func short(commit string) string { return commit[:min(len(commit), 12)] }

// misses says in words which goals are missed.
func misses(b *bytes.Buffer, s report.Section) {
	for _, c := range s.Claims {
		got := number(c.Value, c.Unit)
		if c.OfRatio() {
			got = ratio(c) + " (" + figure(c) + ")"
		}
		switch c.Verdict {
		case report.Missed:
			fmt.Fprintf(b, "**Missed:** %s is %s; the goal is %s.\n\n", strings.TrimSpace(c.What), got, goal(c))
		case report.Unmeasured:
			fmt.Fprintf(b, "**Not measured:** %s, whose goal is %s; the run was too small.\n\n", strings.TrimSpace(c.What), goal(c))
		}
	}
}

// at is a figure's place on its axis: a count, or nothing.
func at(n report.Number) string {
	if n == 0 || float64(n) != math.Trunc(float64(n)) || n >= 100 {
		return cell(n)
	}
	return strconv.Itoa(int(n))
}

// cell is a number in the table; 0 means that it was not measured.
func cell(n report.Number) string {
	if n == 0 {
		return "–"
	}
	return number(n, "")
}

// figures are the numbers behind the plots.
func figures(b *bytes.Buffer, s report.Section) {
	if len(s.Figures) == 0 {
		return
	}
	b.WriteString("<details><summary>The figures</summary>\n\n| plot | who | at | median | least | most | rounds | CPU µs each | engine's CPU µs each |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, f := range s.Figures {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %d | %s | %s |\n", f.Chart, f.Name, at(f.X), number(f.Median, f.Unit), number(f.Min, ""), number(f.Max, ""), len(f.Rounds), cell(f.CPU), cell(f.EngineCPU))
	}
	b.WriteString("\n</details>\n\n")
}

// told are the figures without a goal.
func told(b *bytes.Buffer, s report.Section) {
	var rows bytes.Buffer
	for _, c := range s.Claims {
		if c.Op == "" {
			fmt.Fprintf(&rows, "| %s | %s | %s |\n", strings.TrimSpace(c.What), figure(c), ratio(c))
		}
	}
	if rows.Len() > 0 {
		fmt.Fprintf(b, "Without a goal:\n\n| what | figure | ratio |\n| --- | --- | --- |\n%s\n", &rows)
	}
}
