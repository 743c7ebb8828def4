package doctest

import (
	"path"
	"strings"
)

// Links returns the broken links of a page.
func (t *Tree) Links(p Page) (wrong []Problem) {
	for _, link := range p.Links {
		file, anchor, _ := strings.Cut(link.Text, "#")
		target := p.Path
		if file != "" {
			target = path.Join(path.Dir(p.Path), file)
		}
		page, isPage := t.Pages[target]
		if target == p.Path {
			page, isPage = p, true
		}
		switch {
		case !isPage && !t.exists(target):
			wrong = append(wrong, p.problem(link.Line, "the link %s leads to no file", link.Text))
		case anchor != "" && isPage && !page.Anchors[anchor]:
			wrong = append(wrong, p.problem(link.Line, "the link %s leads to no heading", link.Text))
		}
	}
	return wrong
}

// References returns the sections of pages that other files name and that do not exist.
func (t *Tree) References() (wrong []Problem) {
	for _, m := range t.Mentions {
		if !t.Pages[m.Page].Anchors[m.Anchor] {
			wrong = append(wrong, Problem{m.Path, m.Line, m.Page + " has no section " + m.Anchor})
		}
	}
	return wrong
}
