package doctest

import (
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// GoCode returns the Go blocks of a page that are not Go, those that differ from the file in
// their mark, and those marked compile that do not compile: build gets the program.
func (t *Tree) GoCode(p Page, build func(program string) error) (wrong []Problem) {
	for _, b := range p.Blocks {
		if b.Lang != "go" {
			continue
		}
		if _, _, err := parsed(token.NewFileSet(), b.Text); err != nil {
			wrong = append(wrong, p.problem(b.Line, "the block is no Go: %v", err))
			continue
		}
		for _, mark := range b.Marks {
			switch file, isFile := strings.CutPrefix(mark, "file="); {
			case isFile:
				text, err := os.ReadFile(filepath.Join(t.Root, filepath.FromSlash(file)))
				if err != nil {
					wrong = append(wrong, p.problem(b.Line, "there is no file %s", file))
				} else if string(text) != b.Text {
					wrong = append(wrong, p.problem(b.Line, "the block is not %s word for word", file))
				}
			case mark == "compile":
				if build == nil {
					continue
				}
				if err := build(b.Text); err != nil {
					wrong = append(wrong, p.problem(b.Line, "the program does not compile: %v", err))
				}
			default:
				wrong = append(wrong, p.problem(b.Line, "unknown mark %s; use compile or file=path", mark))
			}
		}
	}
	return wrong
}

// diagrams are the kinds of Mermaid that the pages use.
var diagrams = []string{"flowchart", "sequenceDiagram", "stateDiagram-v2"}

// Mermaid returns the diagrams of a page that cannot be drawn: of an unknown kind, with unclosed
// brackets or quotes, or with missing ends.
func (t *Tree) Mermaid(p Page) (wrong []Problem) {
	for _, b := range p.Blocks {
		if b.Lang != "mermaid" {
			continue
		}
		if words := strings.Fields(b.Text); len(words) == 0 || !slices.Contains(diagrams, words[0]) {
			wrong = append(wrong, p.problem(b.Line, "the diagram is no %s", strings.Join(diagrams, ", ")))
			continue
		}
		depth := 0
		for i, line := range strings.Split(b.Text, "\n") {
			if text := unbalanced(line); text != "" {
				wrong = append(wrong, p.problem(b.Line+i, "the diagram has %s", text))
			}
			switch words := append(strings.Fields(line), ""); words[0] {
			case "subgraph", "alt", "loop", "opt", "par":
				depth++
			case "end":
				depth--
			}
		}
		if depth != 0 {
			wrong = append(wrong, p.problem(b.Line, "the diagram has %+d more beginnings than ends", depth))
		}
	}
	return wrong
}

// unbalanced returns the unclosed part of a line of Mermaid; arrows and quoted text do not
// count.
func unbalanced(line string) string {
	if strings.Count(line, `"`)%2 != 0 {
		return "a quote that does not close"
	}
	var open []rune
	quoted := false
	pairs := map[rune]rune{')': '(', ']': '[', '}': '{'}
	for _, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case strings.ContainsRune("([{", r):
			open = append(open, r)
		case pairs[r] != 0:
			if len(open) == 0 || open[len(open)-1] != pairs[r] {
				return "a " + string(r) + " that nothing opened"
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return "a " + string(open[len(open)-1]) + " that does not close"
	}
	return ""
}
