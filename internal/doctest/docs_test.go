package doctest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runbooks are the sections of docs/operating.md that alerts link to.
var runbooks = []string{
	"backlog-grows", "dead-letters", "redis-lost", "restore-from-backup", "redis-streams-to-kafka", "polling-to-debezium",
	"limiter-over-the-limit", "lag-grows", "breaker-open", "lock-conflicts",
}

// readOnce reads the whole tree, which takes the race detector seconds.
var readOnce = sync.OnceValues(func() (*Tree, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	return Read(root)
})

func read(t *testing.T) Tree {
	t.Helper()
	tree, err := readOnce()
	require.NoError(t, err)
	return *tree
}

// TestDocumentation applies every check that only reads to every page.
func TestDocumentation(t *testing.T) {
	tree := read(t)
	for _, p := range tree.sorted() {
		for _, check := range []func(Page) []Problem{tree.Links, tree.TestNames, tree.WordNames, tree.Paths, tree.Mermaid, tree.Exported} {
			report(t, check(p))
		}
	}
	report(t, tree.Cases())
	report(t, tree.References())
}

// TestCommands checks that the programs know the commands on the pages.
func TestCommands(t *testing.T) {
	tree := read(t)
	tree.Help = helper(t)
	for _, p := range tree.sorted() {
		report(t, tree.Commands(p))
	}
}

// TestGoCode checks that the Go of the pages parses, and builds if it is a program.
func TestGoCode(t *testing.T) {
	tree := read(t)
	for _, p := range tree.sorted() {
		report(t, tree.GoCode(p, builder(t, tree.Root)))
	}
}

func report(t *testing.T, wrong []Problem) {
	t.Helper()
	for _, p := range wrong {
		t.Error(p)
	}
}

// TestRunbooks checks that the page for operators answers each alert.
func TestRunbooks(t *testing.T) {
	page, ok := read(t).Pages["docs/operating.md"]
	require.True(t, ok, "there is no docs/operating.md")
	for _, name := range runbooks {
		assert.Truef(t, page.Anchors[name], "docs/operating.md has no section %s", name)
	}
}

// TestAlertsAreAnswered checks that the page beside each file of rules names each of its alerts.
func TestAlertsAreAnswered(t *testing.T) {
	for file, page := range map[string]string{"millrace.yml": "docs/operating.md", "boxoffice.yml": "docs/operating-boxoffice.md"} {
		rules, err := os.ReadFile(filepath.Join(rootOf(t), "deploy", "prometheus", file))
		require.NoError(t, err)
		alerts := regexp.MustCompile(`(?m)^\s*- alert: (\w+)$`).FindAllSubmatch(rules, -1)
		if len(alerts) < 10 {
			t.Fatalf("%d alerts were found in %s", len(alerts), file)
		}
		named := map[string]bool{}
		for _, span := range read(t).Pages[page].Code {
			named[span.Text] = true
		}
		for _, alert := range alerts {
			if name := string(alert[1]); !named[name] {
				t.Errorf("%s does not say what to do about `%s`", page, name)
			}
		}
	}
}

// TestEveryPageIsInTheIndex checks that each page of docs can be found from docs/README.md, and
// that README.md is short enough.
func TestEveryPageIsInTheIndex(t *testing.T) {
	tree := read(t)
	listed := map[string]bool{"docs/README.md": true}
	for _, link := range tree.Pages["docs/README.md"].Links {
		listed["docs/"+link.Text] = true
	}
	for path := range tree.Pages {
		if filepath.Dir(path) == "docs" && !listed[path] {
			t.Errorf("docs/README.md does not lead to %s", path)
		}
	}
	lines := tree.Pages["README.md"].Text
	if last := lines[len(lines)-1].Line; last > 300 {
		t.Errorf("README.md has %d lines; move what only some readers need to docs", last)
	}
}

// TestEnvironment checks that docs/environment.md lists each variable that a public package
// names.
func TestEnvironment(t *testing.T) {
	tree := read(t)
	page, err := os.ReadFile(filepath.Join(tree.Root, "docs", "environment.md"))
	require.NoError(t, err)
	constant := regexp.MustCompile(`const [Ee]nv\w+ += "(\w+)"`)
	found := 0
	err = filepath.WalkDir(tree.Root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != tree.Root && d.IsDir() && slices.Contains([]string{"internal", "build", ".git", "examples", "proof", "cmd"}, d.Name()):
			return fs.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range constant.FindAllSubmatch(text, -1) {
			if found++; !bytes.Contains(page, append([]byte("| `"), append(m[1], "` |"...)...)) {
				t.Errorf("%s: docs/environment.md does not list %s", path, m[1])
			}
		}
		return err
	})
	if err != nil || found < 3 {
		t.Errorf("%d variables were found, %v", found, err)
	}
}
