package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// report prints the failures, the cases ruled out, the table, and the cells that
// were left out of it because SERVERS does not name all their servers.
func report(cells, left []cell, r *results, out io.Writer) error {
	for _, text := range r.broken {
		fmt.Fprintf(out, "\n%s", text)
	}
	reasons := make([]string, 0, len(r.reasons))
	for reason, n := range r.reasons {
		reasons = append(reasons, fmt.Sprintf("%3d × %s", n, reason))
	}
	slices.SortFunc(reasons, func(a, b string) int { return strings.Compare(a[len(" 12 × "):], b[len(" 12 × "):]) })
	if len(reasons) > 0 {
		fmt.Fprintf(out, "\nn/a, by the capabilities that a transport or store declares:\n%s\n", strings.Join(reasons, "\n"))
	}

	empty := table(cells, r, out)
	for _, c := range left {
		// Its own column is named, so the missing servers are those behind it.
		fmt.Fprintf(out, "left out: %s on %s needs %s\n", c.row, c.column, strings.Join(c.needs, " "))
	}
	var t tally
	var red []string
	packages := map[string]*tally{}
	for k, o := range r.outcomes {
		t.add(o)
		if o == failed || o == skipped {
			red = append(red, strings.TrimSpace(k.pkg+k.note+" "+k.test))
		}
		name := k.pkg + k.note
		if packages[name] == nil {
			packages[name] = &tally{}
		}
		packages[name].add(o)
	}
	names := make([]string, 0, len(packages))
	for name := range packages {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(out, "\n%-58s %7s %5s %8s %7s\n", "package", "passed", "n/a", "skipped", "failed")
	for _, name := range names {
		p := packages[name]
		fmt.Fprintf(out, "%-58s %7d %5d %8d %7d\n", name, p.passed, p.ruledOut, p.skipped, p.failed)
	}
	fmt.Fprintf(out, "\n%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)

	err := errors.Join(r.runs...)
	if t.failed+t.skipped > 0 {
		slices.Sort(red)
		err = errors.Join(err, fmt.Errorf("%d tests failed and %d were skipped:\n%s", t.failed, t.skipped, strings.Join(red[:min(len(red), 10)], "\n")))
	}
	for _, c := range empty {
		err = errors.Join(err, fmt.Errorf("the cell %s on %s has no passed test; its pattern %s finds none in %s", c.row, c.column, c.tests, c.pkg))
	}
	return err
}

// table prints the matrix and returns the cells without a passed test.
func table(cells []cell, r *results, out io.Writer) (empty []cell) {
	var rows, columns []string
	texts := map[[2]string]string{}
	for _, c := range cells {
		if !slices.Contains(rows, c.row) {
			rows = append(rows, c.row)
		}
		if !slices.Contains(columns, c.column) {
			columns = append(columns, c.column)
		}
		n := c.count(r)
		text := strconv.Itoa(n.passed)
		if n.failed+n.skipped > 0 {
			text += fmt.Sprintf(" (%d!)", n.failed+n.skipped)
		}
		texts[[2]string{c.row, c.column}] = text
		if n.passed == 0 {
			empty = append(empty, c)
		}
	}
	fmt.Fprintf(out, "\n%-16s", "tests passed")
	for _, column := range columns {
		fmt.Fprintf(out, " %*s", max(9, len(column)), column)
	}
	for _, row := range rows {
		fmt.Fprintf(out, "\n%-16s", row)
		for _, column := range columns {
			text := texts[[2]string{row, column}]
			if text == "" {
				text = "·"
			}
			fmt.Fprintf(out, " %*s", max(9, len(column)), text)
		}
	}
	fmt.Fprintln(out)
	return empty
}
