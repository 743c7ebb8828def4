package depstest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// toy is a small graph without a fault.
func toy() graph {
	return graph{
		"fault":                      {ours: true},
		"sqltx":                      {ours: true},
		"event":                      {ours: true, imports: []string{"fault"}},
		"bus":                        {ours: true, imports: []string{"event"}},
		"bus/pgbus":                  {ours: true, imports: []string{"bus", "internal/txbus", "github.com/jackc/pgx/v5"}},
		"bus/membus":                 {ours: true, imports: []string{"bus"}},
		"conformance":                {ours: true},
		"outbox":                     {ours: true, imports: []string{"event"}},
		"internal/txbus":             {ours: true, imports: []string{"bus"}},
		"internal/tcptest":           {ours: true},
		"cmd/millrace":               {ours: true, command: true, imports: []string{"bus/pgbus", "github.com/spf13/cobra"}},
		"examples/shop":              {ours: true, command: true, imports: []string{"outbox"}},
		"github.com/jackc/pgx/v5":    {module: "github.com/jackc/pgx/v5", imports: []string{"github.com/jackc/puddle/v2"}},
		"github.com/jackc/puddle/v2": {module: "github.com/jackc/puddle/v2"},
		"github.com/spf13/cobra":     {module: "github.com/spf13/cobra"},
		"github.com/prometheus/client_golang/prometheus": {module: "github.com/prometheus/client_golang"},
	}
}

const toyTable = `
bus

bus/membus

bus/pgbus
	github.com/jackc/pgx/v5
	github.com/jackc/puddle/v2

conformance

event

fault

outbox

sqltx
`

func toyLinks(t *testing.T, g graph, text string) []string {
	t.Helper()
	want, err := parse(text)
	require.NoError(t, err)
	return compare(g, want)
}

// The toy is sound, so that the checks find only the planted faults.
func TestPlantedNothing(t *testing.T) {
	g := toy()
	assert.Equal(t, toyTable, table(g), "the table")
	for name, wrong := range map[string][]string{
		"links": toyLinks(t, g, toyTable), "drivers": strayDrivers(g), "tools": strayTools(g), "arrows": wrongArrows(g), "internals": strayInternals(g), "examples": strayExamples(g),
	} {
		if len(wrong) > 0 {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// Every check finds its planted fault, and reports it.
func TestPlanted(t *testing.T) {
	links := func(t *testing.T, g graph) []string { return toyLinks(t, g, toyTable) }
	drivers := func(_ *testing.T, g graph) []string { return strayDrivers(g) }
	tools := func(_ *testing.T, g graph) []string { return strayTools(g) }
	arrows := func(_ *testing.T, g graph) []string { return wrongArrows(g) }
	examples := func(_ *testing.T, g graph) []string { return strayExamples(g) }
	internals := func(_ *testing.T, g graph) []string { return strayInternals(g) }
	for _, c := range []struct {
		name  string
		plant func(graph)
		check func(*testing.T, graph) []string
		want  string
	}{
		{"a driver below a core package", imports("event", "github.com/jackc/pgx/v5"), links, "outbox links github.com/jackc/pgx/v5, by outbox → event → github.com/jackc/pgx/v5"},
		{"one less", without("bus/pgbus", "github.com/jackc/pgx/v5"), links, "bus/pgbus does not link github.com/jackc/puddle/v2 any more"},
		{"a new public package", func(g graph) { g["eventlog"] = pkg{ours: true} }, links, "eventlog is not in the table"},
		{"a package is gone", func(g graph) { delete(g, "outbox") }, links, "the table has outbox"},
		{"a driver by way of a leaf", imports("event", "github.com/jackc/pgx/v5"), drivers, "bus/membus links github.com/jackc/pgx/v5"},
		{"another's driver", imports("bus/membus", "github.com/jackc/pgx/v5"), drivers, "only pg…"},
		{"Prometheus in a core package", imports("outbox", "github.com/prometheus/client_golang/prometheus"), drivers, "outbox links github.com/prometheus/client_golang"},
		{"cobra in a package", imports("outbox", "github.com/spf13/cobra"), tools, "outbox links github.com/spf13/cobra"},
		{"cobra in an example", imports("examples/shop", "github.com/spf13/cobra"), tools, "examples/shop imports github.com/spf13/cobra"},
		{"an example imports what is internal", imports("examples/shop", "internal/txbus"), examples, "examples/shop imports internal/txbus; take a public package"},
		{"a package imports a command", imports("outbox", "cmd/millrace"), arrows, "packages stand below commands"},
		{"a command imports an example", imports("cmd/millrace", "examples/shop"), arrows, "do not stand on each other"},
		{"another's backend", imports("outbox", "bus/pgbus"), arrows, "packages stand on event, eventlog, fault, sqltx and internal alone"},
		{"another family", imports("outbox", "bus"), arrows, "packages stand on event, eventlog, fault, sqltx and internal alone"},
		{"a sibling's backend", imports("bus/membus", "bus/pgbus"), arrows, "below it or beside it"},
		{"a core package its backend", imports("bus", "bus/membus"), arrows, "below it or beside it"},
		{"internal imports a package", imports("internal/tcptest", "outbox"), arrows, "what is internal stands below"},
		{"a leaf grows", imports("sqltx", "fault"), arrows, "it is a leaf"},
		{"a module imports what is internal", func(g graph) {
			g["bus/pgbus"] = pkg{ours: true, home: "bus/pgbus", imports: []string{"internal/txbus"}}
		}, internals, "bus/pgbus imports internal/txbus, which is internal to another module"},
		{"a package imports the suites' frame", imports("outbox", "conformance"), arrows, "packages stand on event"},
		{"what is for tests", imports("internal/txbus", "internal/tcptest"), arrows, "bus/pgbus links internal/tcptest, which is for tests"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := toy()
			c.plant(g)
			assert.Contains(t, strings.Join(c.check(t, g), "\n"), c.want, "found")
		})
	}
}

func imports(path, imported string) func(graph) {
	return func(g graph) {
		p := g[path]
		p.imports = append([]string{imported}, p.imports...)
		g[path] = p
	}
}

func without(path, imported string) func(graph) {
	return func(g graph) {
		p := g[path]
		var rest []string
		for _, i := range p.imports {
			if i != imported {
				rest = append(rest, i)
			}
		}
		p.imports = rest
		g[path] = p
	}
}

// A table that cannot be parsed is refused.
func TestPlantedTable(t *testing.T) {
	for text, want := range map[string]string{
		"\tgithub.com/x/y\n": "line 1: the module github.com/x/y stands below no package",
		"bus\n\nbus\n":       "line 3: the package bus is there twice",
	} {
		if _, err := parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestPlantedNames counts names and methods of every form, each once, and nothing else.
func TestPlantedNames(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": "package p\n\nconst A, b = 1, 2\n\nvar (\n\tC int\n\td int\n)\n\nfunc E() {}\n\nfunc f() {}\n",
		"b.go": "package p\n\ntype G struct{ X int }\n\nfunc (G) H() {}\n\nfunc (*G) i() {}\n\ntype j struct{}\n\nfunc (j) K() {}\n\n" +
			"type L[T any] struct{}\n\nfunc (*L[T]) M() {}\n\ntype N interface{ O() }\n",
		"c_unix.go": "package p\n\nfunc P() {}\n", "c_other.go": "package p\n\nfunc P() {}\n", "d_test.go": "package p\n\nfunc Q() {}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	names, methods, err := exported(dir)
	require.NoError(t, err)
	if want := []string{"A", "C", "E", "G", "L", "N", "P"}; !slices.Equal(names, want) {
		t.Errorf("the names are %v, want %v", names, want)
	}
	if want := []string{"G.H", "L.M"}; !slices.Equal(methods, want) {
		t.Errorf("the methods are %v, want %v", methods, want)
	}
	for path, want := range map[string]bool{"outbox": true, "millracetest": true, "outbox/driver": false, "bus/driver/kit": false, "outbox/outboxtest": false} {
		if isCalled(path) != want {
			t.Errorf("isCalled(%q) is %v", path, !want)
		}
	}
}
