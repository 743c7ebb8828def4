package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A matrix that cannot fail proves nothing: each of these runs must be refused.
func TestReportRefuses(t *testing.T) {
	const pkg = `"Package":"github.com/millrace-go/millrace/a"`
	const pass = `{"Action":"pass",` + pkg + `,"Test":"T/one"}` + "\n" + `{"Action":"pass",` + pkg + `,"Test":"T"}` + "\n"
	for name, tc := range map[string]struct {
		events string
		ok     bool
	}{
		"a pass":                  {pass, true},
		"a failure":               {pass + `{"Action":"fail",` + pkg + `,"Test":"U"}`, false},
		"a failure of a parent":   {`{"Action":"pass",` + pkg + `,"Test":"T/one"}` + "\n" + `{"Action":"fail",` + pkg + `,"Test":"T"}` + "\n" + `{"Action":"fail",` + pkg + `}`, false},
		"a skip":                  {pass + `{"Action":"skip",` + pkg + `,"Test":"U"}`, false},
		"nothing ran":             {`{"Action":"pass",` + pkg + `}`, false},
		"nothing of the cell ran": {`{"Action":"pass",` + pkg + `,"Test":"Other"}`, false},
		"a build error":           {pass + `{"Action":"fail",` + pkg + `}`, false},
		"nothing but n/a": {`{"Action":"output",` + pkg + `,"Test":"T/n","Output":"    suite.go:87: n/a: no transactions"}
{"Action":"pass",` + pkg + `,"Test":"T/n"}`, false},
		"n/a by a capability beside a pass": {`{"Action":"output",` + pkg + `,"Test":"N","Output":"    run.go:72: n/a on mem: without Durable: it ends"}
{"Action":"skip",` + pkg + `,"Test":"N"}
` + pass, true},
	} {
		t.Run(name, func(t *testing.T) {
			cells, err := parse("# a comment\nbus | memory | ./a | ^T/\n")
			require.NoError(t, err)
			r := newResults()
			require.NoError(t, r.collect("", strings.NewReader(tc.events), io.Discard))
			err = report(cells, nil, r, io.Discard)
			assert.Equalf(t, tc.ok, (err == nil), "report: %v", err)
			if name == "a skip" && !strings.HasSuffix(err.Error(), ":\n./a U") {
				t.Errorf("the report ends without the test: %v", err)
			}
		})
	}
}

// The table counts the tests that ran, once each.
func TestTable(t *testing.T) {
	cells, err := parse("bus | memory | ./a | ^T/\nbus | Kafka | ./b | ^T/")
	require.NoError(t, err)
	r := newResults()
	for _, k := range []key{{"./a", "", "T/one"}, {"./a", "", "T/two"}, {"./b", "", "T/one"}, {"./b", " again", "T/one"}} {
		r.outcomes[k] = passed
	}
	var out strings.Builder
	if empty := table(cells, r, &out); len(empty) > 0 {
		t.Errorf("empty: %v", empty)
	}
	want := "\ntests passed        memory     Kafka\nbus                      2         1\n"
	assert.Equal(t, want, out.String())
}

// PgBouncer's cells count the runs through PgBouncer, and no others; their packages are tested
// with its URL.
func TestPooledCells(t *testing.T) {
	cells, err := parse("a | PostgreSQL | ./a | ^T\na | PgBouncer + postgres | ./a | ^T\nb | Kafka | ./b | ^T\n")
	require.NoError(t, err)
	pooled, direct := divide(cells)
	if len(pooled) != 1 || pooled[0].column != "PgBouncer" || len(direct) != 2 {
		t.Fatalf("pooled are %v, direct %v", pooled, direct)
	}
	r := newResults()
	r.outcomes[key{"./a", "", "T/one"}], r.outcomes[key{"./a", "", "T/two"}] = passed, passed
	assert.Equal(t, 0, pooled[0].count(r).passed, "tests without PgBouncer count")
	r.outcomes[key{"./a", throughPooler, "T/one"}] = passed
	if n, m := pooled[0].count(r).passed, direct[0].count(r).passed; n != 1 || m != 2 {
		t.Errorf("%d tests count through PgBouncer and %d without, want 1 and 2", n, m)
	}
}

// packages are those of all lists.
func packages(t *testing.T) []string {
	t.Helper()
	cells, err := parse(list)
	require.NoError(t, err)
	return slices.Concat(packagesOf(cells, nil), beside, business, alone)
}

// Every package of the lists exists.
func TestPackagesExist(t *testing.T) {
	for _, pkg := range packages(t) {
		_, err := os.Stat(filepath.Join("../..", strings.TrimSuffix(pkg, "/...")))
		assert.NoError(t, err)
	}
}

// A package whose tests use real servers is in a list; otherwise no run would use
// them.
func TestNoPackageIsForgotten(t *testing.T) {
	const module = "github.com/millrace-go/millrace"
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `go list -e -f "{{.ImportPath}} {{.TestImports}} {{.XTestImports}}" $(./scripts/modules | sed 's#$#/...#')`)
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	listed := packages(t)
	found := 0
	for line := range strings.Lines(string(out)) {
		pkg, imports, _ := strings.Cut(line, " ")
		if !slices.ContainsFunc(strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(imports)), func(name string) bool {
			helper, ok := strings.CutPrefix(name, module+"/internal/")
			return ok && slices.Contains([]string{"servicetest", "redistest", "transporttest"}, helper)
		}) {
			continue
		}
		found++
		pkg = "." + strings.TrimPrefix(pkg, module)
		if !slices.ContainsFunc(listed, func(l string) bool {
			tree, all := strings.CutSuffix(l, "/...")
			return pkg == tree || all && strings.HasPrefix(pkg, tree+"/")
		}) {
			t.Errorf("%s needs servers and is neither in cells.txt nor in main.go", pkg)
		}
	}
	if found < 10 {
		t.Errorf("found only %d packages that need servers", found)
	}
}

// A package of memory and SQLite alone is left to make test, where a test that needs a
// server is skipped.
func TestEmbeddedPackagesNeedNoServer(t *testing.T) {
	cells, err := parse(list)
	require.NoError(t, err)
	served, _, err := choose(cells, "", "")
	require.NoError(t, err)
	need := regexp.MustCompile(`(redistest|transporttest|servicetest)\.(\w+)`)
	for _, pkg := range packagesOf(cells, packagesOf(served, nil)) {
		files, err := filepath.Glob(filepath.Join("../..", pkg, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(pkg, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, use := range need.FindAllStringSubmatch(string(text), -1) {
				if use[2] != "SQLite" {
					t.Errorf("%s uses %s", file, use[0])
				}
			}
		}
	}
}

// SERVERS gives the columns that it names, and reports the cells left out of them.
func TestChoose(t *testing.T) {
	cells, err := parse("a | memory | ./a | ^A\na | Kafka | ./b | ^A/kafka\nb | Kafka + postgres redis | ./b | ^B|^C\nb | PostgreSQL | ./c | ^B\n")
	require.NoError(t, err)
	show := func(cells []cell) string {
		var names []string
		for _, c := range cells {
			names = append(names, c.row+" on "+c.column)
		}
		return strings.Join(names, ", ")
	}
	for servers, want := range map[string]struct{ chosen, left, starts string }{
		"":                      {"a on Kafka, b on Kafka, b on PostgreSQL", "", "kafka postgres redis"},
		"kafka":                 {"a on Kafka", "b on Kafka", "kafka"},
		"memory":                {"a on memory", "", ""},
		" kafka postgres redis": {"a on Kafka, b on Kafka, b on PostgreSQL", "", "kafka postgres redis"},
	} {
		chosen, left, err := choose(cells, servers, "default")
		if err != nil || show(chosen) != want.chosen || show(left) != want.left || strings.Join(starts(chosen), " ") != want.starts {
			t.Errorf("SERVERS=%q: %s; left out %s; starts %v; %v", servers, show(chosen), show(left), starts(chosen), err)
		}
	}
	assert.Equal(t, "^A/kafka|^B|^C", pattern(cells, "./b"), "go test -run")
	for _, bad := range []struct{ servers, versions, want string }{
		{"kafka gopher", "", `"gopher"; there are: memory kafka postgres redis`}, {"redis", "", "alone"}, {"", "all", "VERSIONS"}, {"", "9", "VERSIONS"},
	} {
		if _, _, err := choose(cells, bad.servers, bad.versions); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("SERVERS=%q VERSIONS=%q: %v, want %q", bad.servers, bad.versions, err, bad.want)
		}
	}
	// A cell that is left out is reported, and is no empty cell.
	chosen, left, err := choose(cells, "kafka", "")
	require.NoError(t, err)
	r := newResults()
	r.outcomes[key{"./b", "", "A/kafka"}] = passed
	var out strings.Builder
	if err := report(chosen, left, r, &out); err != nil || !strings.Contains(out.String(), "left out: b on Kafka needs kafka postgres redis\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if _, err := parse("a | Gopher | ./a | ^A"); err == nil {
		t.Error("a column that is none was accepted")
	}
}

// Every server that a cell needs is one that scripts/services.sh lists with its variable.
func TestServersExist(t *testing.T) {
	cells, err := parse(list)
	require.NoError(t, err)
	listed, err := exec.Command("../services.sh", "list").Output()
	require.NoError(t, err)
	for _, name := range starts(cells) {
		assert.Containsf(t, "\n"+string(listed), "\n"+name+" MILLRACE_", "scripts/services.sh lists no variable for %s", name)
	}
}
