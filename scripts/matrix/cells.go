package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// cell is a suite on a server: some tests of a package.
type cell struct {
	row, column, pkg string
	tests            *regexp.Regexp
	needs            []string // servers, as scripts/services.sh calls them; the column's is the first
}

// throughPooler is the note of the runs in which PostgreSQL's tests meet it through PgBouncer.
const throughPooler = " through PgBouncer"

// pooled reports whether the cell is in PgBouncer's column.
func (c cell) pooled() bool { return c.column == "PgBouncer" }

// note is that of the run whose tests count into the cell.
func (c cell) note() string {
	if c.pooled() {
		return throughPooler
	}
	return ""
}

// columnsOf reads lines "column = server": the server as SERVERS and scripts/services.sh name it.
func columnsOf(text string) map[string]string {
	columns := make(map[string]string)
	for line := range strings.Lines(text) {
		if column, server, ok := strings.Cut(line, "="); ok && !strings.ContainsAny(line, "#|") {
			columns[strings.TrimSpace(column)] = strings.TrimSpace(server)
		}
	}
	return columns
}

// parse reads lines "suite | column | package | tests". Further servers of a suite
// follow behind a plus: "Kafka + postgres redis". The columns are those of cells.txt.
func parse(text string) ([]cell, error) {
	columns := columnsOf(list)
	var cells []cell
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || len(columnsOf(line)) > 0 {
			continue
		}
		parts := strings.SplitN(line, "|", 4)
		if len(parts) != 4 {
			return nil, fmt.Errorf("cells.txt: %q has no four parts", line)
		}
		tests, err := regexp.Compile(strings.TrimSpace(parts[3]))
		if err != nil {
			return nil, fmt.Errorf("cells.txt: %q: %w", line, err)
		}
		column, beside, _ := strings.Cut(parts[1], "+")
		column = strings.TrimSpace(column)
		server, ok := columns[column]
		if !ok {
			return nil, fmt.Errorf("cells.txt: %q: %s is no column", line, column)
		}
		cells = append(cells, cell{
			strings.TrimSpace(parts[0]), column, strings.TrimSpace(parts[2]), tests, append([]string{server}, strings.Fields(beside)...),
		})
	}
	return cells, nil
}

// packagesOf lists the packages of the cells once each, except some.
func packagesOf(cells []cell, without []string) []string {
	var all []string
	for _, c := range cells {
		if !slices.Contains(all, c.pkg) && !slices.Contains(without, c.pkg) {
			all = append(all, c.pkg)
		}
	}
	return all
}

// count sums the tests of the cell.
func (c cell) count(r *results) (t tally) {
	for key, outcome := range r.outcomes {
		if key.pkg == c.pkg && key.note == c.note() && c.tests.MatchString(key.test) {
			t.add(outcome)
		}
	}
	return t
}
