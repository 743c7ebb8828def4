package doctest

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Page is a parsed Markdown file.
type Page struct {
	Path    string // from the root of the tree, with slashes
	Anchors map[string]bool
	Links   []Span // targets of relative links, and of those within the page
	Code    []Span // code spans in the text
	Blocks  []Block
	Text    []Span // lines outside of blocks
}

// Span is a piece of a page.
type Span struct {
	Line int
	Text string
}

// Block is fenced code.
type Block struct {
	Line  int // of its first line
	Lang  string
	Marks []string // the words after the language
	Text  string
}

// Problem is an error on a page.
type Problem struct {
	Path string
	Line int
	Text string
}

func (p Problem) String() string { return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text) }

// problem returns an error on a line of the page.
func (p Page) problem(line int, format string, args ...any) Problem {
	return Problem{p.Path, line, fmt.Sprintf(format, args...)}
}

var (
	linkPattern   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codePattern   = regexp.MustCompile("`([^`]+)`")
	anchorPattern = regexp.MustCompile(`<a id="([^"]+)">`)
	schemePattern = regexp.MustCompile(`^[a-z]+:`)
)

// Parse parses a page.
func Parse(path, text string) Page {
	p := Page{Path: path, Anchors: map[string]bool{}}
	var block *Block
	var lines []string
	for i, line := range strings.Split(text, "\n") {
		n := i + 1
		if fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			if block == nil {
				words := append(strings.Fields(fence), "")
				block, lines = &Block{Line: n + 1, Lang: words[0], Marks: words[1 : max(len(words), 2)-1]}, nil
				continue
			}
			block.Text = strings.Join(lines, "\n") + "\n"
			p.Blocks = append(p.Blocks, *block)
			block = nil
			continue
		}
		if block != nil {
			lines = append(lines, line)
			continue
		}
		p.line(n, line)
	}
	return p
}

func (p *Page) line(n int, line string) {
	p.Text = append(p.Text, Span{n, line})
	if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
		p.anchor(slug(title))
	}
	for _, m := range anchorPattern.FindAllStringSubmatch(line, -1) {
		p.anchor(m[1])
	}
	for _, m := range linkPattern.FindAllStringSubmatch(codePattern.ReplaceAllString(line, "`x`"), -1) {
		if !schemePattern.MatchString(m[1]) {
			p.Links = append(p.Links, Span{n, m[1]})
		}
	}
	for _, m := range codePattern.FindAllStringSubmatch(line, -1) {
		p.Code = append(p.Code, Span{n, m[1]})
	}
}

// anchor adds a name; a repeated one gets a number, as on GitHub.
func (p *Page) anchor(name string) {
	free := name
	for i := 1; p.Anchors[free]; i++ {
		free = fmt.Sprintf("%s-%d", name, i)
	}
	p.Anchors[free] = true
}

// slug returns the anchor that GitHub gives a heading.
func slug(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(linkText(title))) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

var headingLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// linkText replaces each link with its text.
func linkText(s string) string { return headingLink.ReplaceAllString(s, "$1") }
