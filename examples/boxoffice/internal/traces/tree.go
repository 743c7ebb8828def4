package traces

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Node is a span with the spans that followed from it.
type Node struct {
	Span
	Linked   bool // it is of another trace, and links to the span above
	Children []*Node
}

// Tree puts a trace together, and adds the spans of other traces that link to it at
// their links. Its roots are the spans whose parent is not among spans: one for a
// whole trace.
func Tree(spans []Span, of trace.TraceID) (roots []*Node) {
	spans = slices.Clone(spans)
	byStart(spans)
	nodes := map[ID]*Node{}
	for _, s := range spans {
		if s.ID.Trace == of {
			nodes[s.ID] = &Node{Span: s}
		}
	}
	for _, s := range spans {
		if n, own := nodes[s.ID]; own {
			if above := nodes[ID{of, s.Parent}]; above != nil {
				above.Children = append(above.Children, n)
			} else {
				roots = append(roots, n)
			}
			continue
		}
		for _, to := range s.Links {
			if above := nodes[to]; above != nil {
				above.Children = append(above.Children, &Node{Span: s, Linked: true})
			}
		}
	}
	return roots
}

// Render draws trees as text: each span with its start after the first, its duration,
// and its service.
func Render(roots []*Node) string {
	if len(roots) == 0 {
		return ""
	}
	began := roots[0].Start
	width := 0
	for _, r := range roots {
		width = max(width, r.width(0))
	}
	var b strings.Builder
	for _, r := range roots {
		r.render(&b, began, width, "", "")
	}
	return b.String()
}

func (n *Node) label() string {
	label := n.Name
	if n.Linked {
		label += " (linked)"
	}
	if n.Failed {
		label += " FAILED"
	}
	return label
}

func (n *Node) width(depth int) int {
	w := 3*depth + len([]rune(n.label()))
	for _, c := range n.Children {
		w = max(w, c.width(depth+1))
	}
	return w
}

func (n *Node) render(b *strings.Builder, began time.Time, width int, first, rest string) {
	label := first + n.label()
	pad := strings.Repeat(" ", width-len([]rune(label)))
	fmt.Fprintf(b, "%s%s  at %8s  took %8s", label, pad, millis(n.Start.Sub(began)), millis(n.End.Sub(n.Start)))
	if n.From != "" {
		b.WriteString("  " + n.From)
	}
	b.WriteByte('\n')
	for i, c := range n.Children {
		if i == len(n.Children)-1 {
			c.render(b, began, width, rest+"└─ ", rest+"   ")
		} else {
			c.render(b, began, width, rest+"├─ ", rest+"│  ")
		}
	}
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
