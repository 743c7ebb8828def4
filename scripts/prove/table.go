package main

import (
	"fmt"
	"io"
	"strings"
)

// table prints one line for each scenario, and below it the measurements.
func table(r report, columns []string, out io.Writer) {
	cells := map[int]map[string]cell{}
	var order []int
	widest := len("scenario")
	for _, c := range r.Cells {
		if cells[c.Number] == nil {
			cells[c.Number] = map[string]cell{}
			order = append(order, c.Number)
		}
		cells[c.Number][c.Column] = c
		widest = max(widest, len(c.Name))
	}
	fmt.Fprintf(out, "\n%2s  %-*s", "#", widest, "scenario")
	for _, column := range columns {
		fmt.Fprintf(out, "  %-14s", column)
	}
	fmt.Fprintln(out)
	for _, n := range order {
		row := fmt.Sprintf("%2d  %-*s", n, widest, nameOf(cells[n]))
		for _, column := range columns {
			row += fmt.Sprintf("  %-14s", cells[n][column].short())
		}
		fmt.Fprintln(out, strings.TrimRight(row, " "))
		for _, column := range columns {
			c := cells[n][column]
			for _, text := range append(c.reasons(), c.Figures...) {
				fmt.Fprintf(out, "      %s: %s\n", column, text)
			}
		}
	}
}

func nameOf(of map[string]cell) (name string) {
	for _, c := range of {
		name = c.Name
	}
	return name
}

// short is the verdict, with the time it took.
func (c cell) short() string {
	if c.Verdict == held || c.Verdict == fails {
		return fmt.Sprintf("%s %4.0f s", c.Verdict, c.Seconds)
	}
	return c.Verdict
}

func (c cell) reasons() []string {
	if c.Reason == "" {
		return nil
	}
	return []string{c.Verdict + ": " + c.Reason}
}
