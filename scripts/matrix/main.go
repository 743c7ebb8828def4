// Command matrix runs the tests with the real servers required and prints one
// table: a row per package, with the tests that passed, those that a capability
// rules out (n/a), were skipped and failed. Any skip is a failure, and so is a
// package that has a row in suites.txt and ran nothing.
package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// suites lists the packages of the matrix, one a line, with what they prove.
//
//go:embed suites.txt
var suites string

// event is a line of `go test -json`.
type event struct {
	Action, Package, Test, Output string
}

// notApplicable is how the suites print a case that a capability rules out; the
// rules are lists in the suites' packages.
var notApplicable = regexp.MustCompile(`\.go:\d+: n/a( on \w+)?: `)

// row counts what became of one package's tests.
type row struct {
	pkg, title                        string
	passed, ruledOut, skipped, failed int
	output                            map[string][]string // by test, until it passes
	broken                            []string
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run(flags []string, out io.Writer) error {
	rows := parseSuites(suites)
	args := append([]string{"test", "-json", "-count=1", "-timeout=15m"}, flags...)
	for _, r := range rows {
		args = append(args, r.pkg)
	}
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := collect(rows, pipe, out); err != nil {
		return err
	}
	waitErr := cmd.Wait()
	return report(rows, out, waitErr)
}

func parseSuites(text string) []*row {
	var rows []*row
	for line := range strings.Lines(text) {
		pkg, title, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && !strings.HasPrefix(pkg, "#") {
			rows = append(rows, &row{pkg: pkg, title: strings.TrimSpace(title), output: map[string][]string{}})
		}
	}
	return rows
}

// collect reads the events and prints progress, a line per finished package.
func collect(rows []*row, events io.Reader, out io.Writer) error {
	byPackage := map[string]*row{}
	for _, r := range rows {
		byPackage["github.com/millrace-go/millrace/"+strings.TrimPrefix(r.pkg, "./")] = r
	}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // a build's own output
		}
		r := byPackage[e.Package]
		if r == nil {
			continue
		}
		switch e.Action {
		case "output":
			r.output[e.Test] = append(r.output[e.Test], e.Output)
		case "pass", "fail", "skip":
			r.finish(e, out)
		}
	}
	return lines.Err()
}

func (r *row) finish(e event, out io.Writer) {
	if e.Test == "" {
		if e.Action == "fail" && r.failed == 0 {
			r.failed++
			r.broken = append(r.broken, strings.Join(r.output[""], ""))
		}
		fmt.Fprintf(out, "%-4s %s\n", e.Action, r.pkg)
		return
	}
	text := strings.Join(r.output[e.Test], "")
	switch {
	case e.Action == "fail":
		r.failed++
		r.broken = append(r.broken, text)
	case notApplicable.MatchString(text):
		r.ruledOut++
	case e.Action == "skip":
		r.skipped++
		r.broken = append(r.broken, text)
	default:
		r.passed++
	}
	delete(r.output, e.Test)
}

func report(rows []*row, out io.Writer, waitErr error) error {
	bad := 0
	slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(b.failed+b.skipped, a.failed+a.skipped) })
	for _, r := range rows {
		for _, text := range r.broken {
			fmt.Fprintf(out, "\n--- %s\n%s", r.pkg, text)
		}
	}
	fmt.Fprintf(out, "\n%-58s %7s %5s %8s %7s\n", "suite", "passed", "n/a", "skipped", "failed")
	total := row{}
	for _, r := range rows {
		if r.failed > 0 || r.skipped > 0 || r.passed == 0 {
			bad++
		}
		total.passed += r.passed
		total.skipped += r.skipped
		total.failed += r.failed
		fmt.Fprintf(out, "%-58s %7d %5d %8d %7d\n", r.title, r.passed, r.ruledOut, r.skipped, r.failed)
	}
	fmt.Fprintf(out, "\n%d passed, %d failed, %d skipped\n", total.passed, total.failed, total.skipped)
	if bad > 0 {
		return fmt.Errorf("%d suites failed, skipped a test, or ran none", bad)
	}
	return waitErr
}
