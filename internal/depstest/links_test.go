package depstest

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/links.txt as it is now")

const linksFile = "testdata/links.txt"

const linksHead = `# The modules of others that a user's binary links when it imports a package, and
# nothing more. Written by: go test ./internal/depstest -run TestLinks -update
`

// TestLinks compares the table with the linked modules, both ways: an additional module is a
// cost for users, a missing one is an outdated table.
func TestLinks(t *testing.T) {
	g := build(t)
	if *update {
		if err := os.WriteFile(linksFile, []byte(linksHead+table(g)), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(linksFile)
	require.NoError(t, err)
	want, err := parse(string(text))
	require.NoErrorf(t, err, "%s", linksFile)
	for _, wrong := range compare(g, want) {
		t.Error(wrong)
	}
}

// table writes the links of every public package.
func table(g graph) string {
	var b strings.Builder
	for _, path := range g.public() {
		fmt.Fprintf(&b, "\n%s\n", path)
		for _, m := range g.links(path) {
			fmt.Fprintf(&b, "\t%s\n", m)
		}
	}
	return b.String()
}

// parse reads the output of table.
func parse(text string) (map[string][]string, error) {
	all, at := map[string][]string{}, ""
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		name, indented := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || line[0] == '#':
		case indented && at == "":
			return nil, fmt.Errorf("line %d: the module %s stands below no package", n, name)
		case indented:
			all[at] = append(all[at], name)
		default:
			if _, twice := all[line]; twice {
				return nil, fmt.Errorf("line %d: the package %s is there twice", n, line)
			}
			at, all[line] = line, nil
		}
	}
	return all, lines.Err()
}

// compare returns the errors of the table.
func compare(g graph, want map[string][]string) []string {
	const repair = "; if that is meant, run go test ./internal/depstest -run TestLinks -update"
	var wrong []string
	public := g.public()
	for _, path := range public {
		listed, ok := want[path]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("the public package %s is not in the table%s", path, repair))
			continue
		}
		linked := g.links(path)
		for _, m := range linked {
			if !slices.Contains(listed, m) {
				wrong = append(wrong, fmt.Sprintf("%s links %s, by %s%s", path, m, strings.Join(g.way(path, m), " → "), repair))
			}
		}
		for _, m := range listed {
			if !slices.Contains(linked, m) {
				wrong = append(wrong, fmt.Sprintf("%s does not link %s any more%s", path, m, repair))
			}
		}
	}
	for path := range want {
		if !slices.Contains(public, path) {
			wrong = append(wrong, fmt.Sprintf("the table has %s, which is no public package%s", path, repair))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// way returns the shortest chain of imports from a package to one of a module, to explain why
// the module is linked.
func (g graph) way(from, mod string) []string {
	before := map[string]string{from: ""}
	for open := []string{from}; len(open) > 0; open = open[1:] {
		p := open[0]
		if g[p].module == mod {
			var way []string
			for ; p != ""; p = before[p] {
				way = append(way, p)
			}
			slices.Reverse(way)
			return way
		}
		for _, next := range g[p].imports {
			if _, seen := before[next]; !seen {
				before[next] = p
				open = append(open, next)
			}
		}
	}
	return nil
}
