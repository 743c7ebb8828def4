package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
)

// sizes are the sizes given by the flags.
type sizes struct {
	rounds, rows, size, rate, seconds int
	quick                             bool // everything small
}

// options of a run.
type options struct {
	sizes
	dirty   bool   // results of a tree with changes are saved, and marked
	results string // folder; "" saves nothing
	bench   string // folder of the report
	root    string // of the tree
	servers map[string]string
	set     *flag.FlagSet
}

// flags declares the flags, and returns the value of -only.
func (o *options) flags(report, list *bool) (only *string) {
	o.set = flag.NewFlagSet("bench", flag.ContinueOnError)
	o.set.IntVar(&o.rounds, "rounds", 5, "interleaved rounds; at most 3 in sections that take their time")
	o.set.IntVar(&o.rows, "rows", 50_000, "rows of backlog to drain")
	o.set.IntVar(&o.size, "size", 500, "bytes of payload")
	o.set.IntVar(&o.rate, "rate", 500, "events per second while latency is measured")
	o.set.IntVar(&o.seconds, "seconds", 5, "seconds of each latency measurement")
	o.set.BoolVar(&o.quick, "quick", false, "run everything small, to see that it works; saved only where -results says")
	o.set.BoolVar(&o.dirty, "dirty", false, "save, and mark, results of a tree with changes that no commit has")
	o.set.StringVar(&o.results, "results", "", "folder of the results; proof/results, and none with -quick")
	o.set.StringVar(&o.bench, "out", "proof", "folder of REPORT.md and plots/")
	o.set.BoolVar(report, "report", false, "measure nothing: make the report of the saved results")
	o.set.BoolVar(list, "list", false, "measure nothing: list the sections and how many minutes each takes")
	return o.set.String("only", "", "sections to run, separated by commas; all when empty: "+names(sections()))
}

func (o *options) validate() error {
	for name, n := range map[string]int{"rounds": o.rounds, "rows": o.rows, "size": o.size, "rate": o.rate, "seconds": o.seconds} {
		if n < 1 {
			return fmt.Errorf("-%s is %d; give 1 or more", name, n)
		}
	}
	if o.quick && o.results != "" && filepath.Clean(o.results) == filepath.Join("proof", "results") {
		return errors.New("-quick brings no figure worth keeping; give -results another folder than proof/results")
	}
	if o.results == "" && !o.quick {
		o.results = filepath.Join("proof", "results")
	}
	return nil
}

// of is the number, and the smaller one of a quick run.
func (s sizes) of(n, quick int) int {
	if s.quick {
		return min(n, quick)
	}
	return n
}

func write(out io.Writer, all []section) error {
	total := 0.0
	for _, s := range all {
		total += s.minutes
		if _, err := fmt.Fprintf(out, "%-16s about %4.1f min  %s\n", s.name, s.minutes, s.title); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%-16s about %4.1f min\n", "all", total)
	return err
}
