// Command prove runs the 29 scenarios that must hold on the embedded defaults and on
// servers, prints one table, and writes build/prove.json. It exits with 1 when one of
// them fails, is skipped, or does not run. Scenarios that a column rules out are
// listed in scenarios.txt with the reason and print n/a.
//
//	go run ./scripts/prove [-only 5,9] [-column embedded|servers] [-json build/prove.json] [-within 30m]
//
// Run it from the root of the tree. prove.sh starts the servers.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

//go:embed scenarios.txt
var list string

const scenarios = "examples/boxoffice/internal/scenarios"

// settings of a run, from flags.
type settings struct {
	only, column, json string
	within             time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var s settings
	flag.StringVar(&s.only, "only", "", "scenarios by number, such as 5,9; all of them by default")
	flag.StringVar(&s.column, "column", "", "embedded or servers; both by default")
	flag.StringVar(&s.json, "json", "build/prove.json", "where the results are written")
	flag.DurationVar(&s.within, "within", 30*time.Minute, "how long all of it may take")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "prove: unexpected argument %q; see -help\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := prove(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
}

// prove builds the tests and runs them.
func prove(ctx context.Context, s settings, out io.Writer) error {
	all, columns, err := s.chosen()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "millrace-prove-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	binary := filepath.Join(dir, "scenarios.test")
	began := time.Now()
	fmt.Fprintln(out, "building the tests …")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "./"+scenarios)
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the tests: %w\n%s", err, text)
	}
	r := runAll(ctx, all, columns, began, out, func(ctx context.Context, c *cell, w way) error { return test(ctx, binary, c, w) })
	return finish(ctx, r, s, columns, out)
}

// chosen are the scenarios and columns of the flags.
func (s settings) chosen() (all []scenario, columns []string, err error) {
	if all, err = parse(list); err != nil {
		return nil, nil, err
	}
	if all, err = choose(all, s.only); err != nil {
		return nil, nil, err
	}
	switch s.column {
	case "":
		return all, []string{embedded, servers}, nil
	case embedded, servers:
		return all, []string{s.column}, nil
	}
	return nil, nil, fmt.Errorf("-column %s: use embedded or servers, or leave it out for both", s.column)
}

// runAll plays the cells one after the other, since they measure.
func runAll(ctx context.Context, all []scenario, columns []string, began time.Time, out io.Writer, play func(context.Context, *cell, way) error) report {
	r := report{Began: began.UTC(), Cores: runtime.NumCPU(), Go: runtime.Version()}
	for _, column := range columns {
		for i, s := range all {
			c, w := cell{Number: s.number, Name: s.name, Column: column}, s.ways[column]
			if w.never != "" {
				c.Verdict, c.Reason = never, w.never
				r.Cells = append(r.Cells, c)
				continue
			}
			if ctx.Err() != nil {
				break
			}
			fmt.Fprintf(out, "%5.0f s  %s %2d of %2d  %2d %s … ", time.Since(began).Seconds(), column, i+1, len(all), s.number, s.name)
			start := time.Now()
			if err := play(ctx, &c, w); err != nil {
				c.Verdict, c.Reason = fails, err.Error()
			}
			c.Seconds = time.Since(start).Seconds()
			fmt.Fprintln(out, c.short())
			r.Cells = append(r.Cells, c)
		}
	}
	r.Seconds = time.Since(began).Seconds()
	return r
}

// finish prints the failures and the table, writes the results, and returns the
// verdict.
func finish(ctx context.Context, r report, s settings, columns []string, out io.Writer) error {
	for _, c := range r.Cells {
		if c.Verdict == fails {
			fmt.Fprintf(out, "\n--- scenario %d on %s: %s\n%s", c.Number, c.Column, c.Reason, c.output)
		}
	}
	table(r, columns, out)
	fmt.Fprintf(out, "\n%d cells in %v, on %d processors\n", len(r.Cells), time.Duration(r.Seconds*float64(time.Second)).Round(time.Second), r.Cores)
	text, err := json.MarshalIndent(r, "", "\t")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(s.json), 0o755)
	}
	if err == nil {
		err = os.WriteFile(s.json, append(text, '\n'), 0o644)
	}
	return errors.Join(err, ctx.Err(), r.verdict(s.within))
}

// rounds is the number of runs of a timed test that has no rounds of its own.
const rounds = 3

// test runs the test of a cell in a process of its own.
func test(ctx context.Context, binary string, c *cell, w way) error {
	times := 1
	if w.timed && c.Column == embedded {
		times = rounds
	}
	cmd := exec.CommandContext(ctx, "go", "tool", "test2json", "-t", binary,
		"-test.v=test2json", "-test.run", testOf(c.Number), "-test.count", fmt.Sprint(times), "-test.timeout", "10m")
	cmd.Dir = scenarios
	cmd.Env = append(os.Environ(), "MILLRACE_PROVE="+c.Column, "MILLRACE_REQUIRE_SERVICES=1")
	var words strings.Builder
	cmd.Stderr = &words
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return judge(c, pipe, times, func() error {
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("the test ended with %w %s", err, words.String())
		}
		return nil
	})
}
