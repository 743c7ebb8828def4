package doctest

import (
	"path"
	"regexp"
	"strings"
)

var (
	testName   = regexp.MustCompile(`\b(Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9_]*`)
	caseName   = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)+$`)
	underscore = regexp.MustCompile(`\b[A-Za-z0-9]+(_[A-Za-z0-9]+)+\b`)
	pathName   = regexp.MustCompile(`^(\./)?[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+/?$|^(\./)?[A-Za-z0-9_-]+\.(go|md|sh|yaml|yml|sql|lua|json)$`)
	columns    = regexp.MustCompile(`  +|\t+`)
)

// TestNames returns the tests on a page that do not exist.
func (t *Tree) TestNames(p Page) (wrong []Problem) {
	for _, s := range p.all() {
		for _, name := range testName.FindAllString(s.Text, -1) {
			if !t.named(name, s.Text) {
				wrong = append(wrong, p.problem(s.Line, "there is no test %s", name))
			}
		}
	}
	return wrong
}

// named reports whether the name is a test, or, behind -run, the beginning of one.
func (t *Tree) named(name, line string) bool {
	if t.Tests[name] || !strings.Contains(line, "-run") {
		return t.Tests[name]
	}
	for test := range t.Tests {
		if strings.HasPrefix(test, name) {
			return true
		}
	}
	return false
}

// Cases returns the names in the tables of package comments that are neither a test nor a case
// of a suite. It checks the last column of a row.
func (t *Tree) Cases() (wrong []Problem) {
	for _, row := range t.Comments {
		for _, name := range testName.FindAllString(row.Text, -1) {
			if !t.named(name, row.Text) {
				wrong = append(wrong, Problem{row.Path, row.Line, "there is no test " + name})
			}
		}
		cells := columns.Split(strings.TrimSpace(row.Text), -1)
		if len(cells) < 2 {
			continue
		}
		for _, name := range strings.Split(cells[len(cells)-1], ",") {
			if name = strings.TrimSpace(name); caseName.MatchString(name) && strings.Count(name, "-") > 1 && !t.Literals[name] {
				wrong = append(wrong, Problem{row.Path, row.Line, "there is no case " + name})
			}
		}
	}
	return wrong
}

// WordNames returns variables, metrics, tables, columns and similar names that are code on a
// page and not in the sources.
func (t *Tree) WordNames(p Page) (wrong []Problem) {
	for _, s := range p.all() {
		if !s.code {
			continue
		}
		for _, word := range underscore.FindAllString(s.Text, -1) {
			if testName.MatchString(word) || t.Words[word] {
				continue
			}
			wrong = append(wrong, p.problem(s.Line, "%s is nowhere in the sources", word))
		}
	}
	return wrong
}

// Paths returns the files and folders in code spans that do not exist, relative to the root or
// to the page.
func (t *Tree) Paths(p Page) (wrong []Problem) {
	for _, s := range p.Code {
		name := strings.TrimSuffix(strings.TrimSuffix(s.Text, "/..."), "/")
		if !pathName.MatchString(name) {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(name, "./"), "/")
		if !t.exists(first) && !strings.Contains(path.Base(name), ".") {
			continue // github.com/…, a media type, a topic
		}
		if !t.exists(name) && !t.exists(path.Join(path.Dir(p.Path), name)) && !t.somewhere(name) {
			wrong = append(wrong, p.problem(s.Line, "there is no file %s", name))
		}
	}
	return wrong
}

// somewhere reports whether a bare file name is in a constant, such as a file that the product
// makes, or the end of a source file's path.
func (t *Tree) somewhere(name string) bool {
	if !strings.Contains(name, "/") {
		return t.Literals[name]
	}
	for _, file := range t.Files {
		if strings.HasSuffix(file, "/"+name) {
			return true
		}
	}
	return false
}

// span is a Span with the information whether it is code.
type span struct {
	Span
	code bool
}

// all returns the lines of the page, its code spans and its blocks.
func (p Page) all() (out []span) {
	for _, s := range p.Text {
		out = append(out, span{Span{s.Line, codePattern.ReplaceAllString(s.Text, " ")}, false})
	}
	for _, s := range p.Code {
		out = append(out, span{s, true})
	}
	for _, b := range p.Blocks {
		for i, line := range strings.Split(b.Text, "\n") {
			// The tests of examples/migrating run the SQL.
			out = append(out, span{Span{b.Line + i, line}, b.Lang != "mermaid" && b.Lang != "sql"})
		}
	}
	return out
}
