package doctest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// planted is a small tree with many errors.
func planted(t *testing.T) *Tree {
	t.Helper()
	root := t.TempDir()
	for path, text := range map[string]string{
		"Makefile":         "run: ## serve\n\techo\n",
		"relay/relay.go":   "package relay\n\nconst metric = \"outbox_backlog\"\n\nfunc New(Config) {}\n\ntype Config struct{ Size int }\n",
		"relay/a_test.go":  "package relay\n\nfunc TestOrder() {}\nfunc TestOrderOfTwo() {}\n\nvar _ = \"one-of-two\"\n",
		"relay/doc.go":     "package relay\n",
		"docs/first.md":    "# A first page\n\n## Twice\n\n## Twice\n\n<a id=\"by-hand\"></a>\n",
		"a/deep/inside.go": "package deep\n",
		"0001_first.sql":   "SELECT 1",
		"alerts.yml":       "runbook: docs/first.md#twice\n",
		"shown/main.go":    "package main\n\nfunc main() {}\n",
		"node_modules/a.c": "ignored_word",
	} {
		file := filepath.Join(root, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	tree, err := Read(root)
	require.NoError(t, err)
	return tree
}

func block(lang string, lines ...string) string {
	return "```" + lang + "\n" + strings.Join(lines, "\n") + "\n```\n"
}

// TestPlantedErrors checks that each check passes correct text and finds the errors.
func TestPlantedErrors(t *testing.T) {
	tree := planted(t)
	code := func(p Page) []Problem { return tree.GoCode(p, nil) }
	for name, test := range map[string]struct {
		check       func(Page) []Problem
		good, wrong string
		says        string
	}{
		"link to a file":      {tree.Links, "[a](first.md) [b](../relay) [c](https://x/y) [d](mailto:a@b)", "[a](second.md)", "second.md leads to no file"},
		"link to a heading":   {tree.Links, "[a](first.md#twice-1) [b](first.md#a-first-page) [c](first.md#by-hand)", "[a](first.md#thrice)", "no heading"},
		"link in the page":    {tree.Links, "## Some `code`, here\n[a](#some-code-here)", "[a](#elsewhere)", "no heading"},
		"test":                {tree.TestNames, "`TestOrder` and TestOrder", "`TestNothing`", "TestNothing"},
		"beginning of tests":  {tree.TestNames, "`go test ./relay -run TestOrderOf`", "`TestOrderOf`", "TestOrderOf"},
		"test in a block":     {tree.TestNames, block("sh", "go test ./relay -run TestOrder"), block("sh", "go test -run TestNone"), "TestNone"},
		"metric":              {tree.WordNames, "`outbox_backlog{shard}`", "`outbox_forelog`", "outbox_forelog"},
		"variable":            {tree.WordNames, "not_code", block("sh", "export NO_SUCH_THING=1"), "NO_SUCH_THING"},
		"SQL":                 {tree.WordNames, block("sql", "SELECT no_such_column"), "`no_such_column`", "no_such_column"},
		"ignored folder":      {tree.WordNames, "", "`ignored_word`", "ignored_word"},
		"path":                {tree.Paths, "`relay/relay.go`, `./relay/...`, `first.md`, `text/plain`", "`relay/none.go`", "relay/none.go"},
		"end of a path":       {tree.Paths, "`deep/inside.go`", "`deep/outside.go`", "deep/outside.go"},
		"name of a file":      {tree.WordNames, "`0001_first`", "`0002_first`", "0002_first"},
		"bare file":           {tree.Paths, "`Makefile`", "`none.sh`", "none.sh"},
		"make":                {tree.Commands, "`make run FANS=2`", "`make walk`", "walk"},
		"make in a block":     {tree.Commands, block("sh", "A=1 make run && make run # make walk"), block("sh", "make run | make walk"), "walk"},
		"folder of a program": {tree.Commands, "`go run ./relay`, `go test ./...`", "`go vet ./relays/...`", "relays"},
		"flag of a program":   {tree.Commands, "`go run ./relay -one-of-two`", "`go run ./relay -only`", "-only"},
		"Go":                  {code, block("go", "x := 1", "f(x)") + block("go", "func f() {}") + block("go", "package p"), block("go", "x := := 1"), "no Go"},
		"file word for word":  {code, block("go file=shown/main.go", "package main", "", "func main() {}"), block("go file=shown/main.go", "package main"), "word for word"},
		"file that is gone":   {code, "", block("go file=shown/no.go", "package main"), "no file"},
		"mark":                {code, block("go compile", "package main"), block("go compil", "package main"), "unknown mark"},
		"function":            {tree.Exported, "`relay.New`, `other.Thing`" + block("go", "relay.New(relay.Config{Size: 1})"), block("go", "", "relay.Now()"), "exports no Now"},
		"function in text":    {tree.Exported, "", "`relay.Now`", "exports no Now"},
		"field":               {tree.Exported, "", block("go", "x := relay.Config{", "Sise: 1,", "}"), "no field Sise"},
		"diagram":             {tree.Mermaid, block("mermaid", "flowchart LR", "a[\"x) (y\"] --> b{{z}}"), block("mermaid", "flow LR"), "no flowchart"},
		"bracket":             {tree.Mermaid, block("mermaid", "flowchart LR", "a[(x)]"), block("mermaid", "flowchart LR", "a[(x]"), "nothing opened"},
		"open bracket":        {tree.Mermaid, "", block("mermaid", "flowchart LR", "a[x"), "does not close"},
		"quote":               {tree.Mermaid, "", block("mermaid", "flowchart LR", "a[\"x]"), "quote"},
		"subgraph":            {tree.Mermaid, block("mermaid", "flowchart LR", "subgraph s", "end"), block("mermaid", "flowchart LR", "subgraph s"), "more beginnings"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.check(Parse("docs/page.md", test.good)); len(got) > 0 {
				t.Errorf("what is true is called wrong: %v", got)
			}
			got := test.check(Parse("docs/page.md", "\n"+test.wrong))
			if len(got) != 1 || !strings.Contains(got[0].String(), test.says) || got[0].Line < 2 {
				t.Errorf("the check says %v, want one problem with %q", got, test.says)
			}
		})
	}
}

func TestPlantedCommands(t *testing.T) {
	tree := planted(t)
	tree.Help = func(program string, words []string) (string, error) {
		switch program + " " + strings.Join(words, " ") {
		case "millrace dlq list":
			return "Flags:\n      --bus string\n  -h, --help\n", nil
		case "boxoffice demo":
			return "  -split\n    \trun two\n", nil
		}
		return "", errors.New("there is no such command")
	}
	for line, right := range map[string]bool{
		"`millrace dlq list dlq.payment --bus x`":         true,
		"`millrace dlq list --buss x`":                    false,
		"`millrace dlq lists`":                            false,
		"`bin/boxoffice demo --split`":                    true,
		"`bin/boxoffice demo --plait`":                    false,
		block("sh", "echo x | millrace dlq none"):         false,
		block("sh", "millrace dlq list \\", "  --buss x"): false,
	} {
		if got := tree.Commands(Parse("docs/page.md", line)); (len(got) == 0) != right {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// TestPlantedProgram builds a program that calls a function that does not exist.
func TestPlantedProgram(t *testing.T) {
	build, tree := builder(t, rootOf(t)), planted(t)
	program := func(call string) Page {
		return Parse("docs/page.md", block("go compile", "package main", "", `import "github.com/millrace-go/millrace/event"`, "", "func main() {", call, "}"))
	}
	if got := tree.GoCode(program("_, _ = event.New(\"A\", \"b\", nil)"), build); len(got) > 0 {
		t.Errorf("a program that compiles: %v", got)
	}
	if got := tree.GoCode(program("event.Invent()"), build); len(got) != 1 || !strings.Contains(got[0].Text, "undefined: event.Invent") {
		t.Errorf("a program that does not compile: %v", got)
	}
}

func TestPlantedPackageComments(t *testing.T) {
	tree := planted(t)
	for row, right := range map[string]bool{
		"property            proven by":              true,
		"the order is kept   TestOrder, one-of-two":  true,
		"the order is kept   TestNone":               false,
		"the order is kept   two-of-two":             false,
		"a row-of-hyphens is a property   TestOrder": true,
	} {
		tree.Comments = []Comment{{"relay/doc.go", 3, row}}
		if got := tree.Cases(); (len(got) == 0) != right {
			t.Errorf("%s: %v", row, got)
		}
	}
}

func TestPlantedReferences(t *testing.T) {
	tree := planted(t)
	if got := tree.References(); len(tree.Mentions) != 1 || len(got) > 0 {
		t.Errorf("a section that is there: %v of %v", got, tree.Mentions)
	}
	tree.Mentions = append(tree.Mentions, Mention{"alerts.yml", "docs/first.md", "thrice", 7})
	if got := tree.References(); len(got) != 1 || got[0].Line != 7 {
		t.Errorf("a section that is not there: %v", got)
	}
}
