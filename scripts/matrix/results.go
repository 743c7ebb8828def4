package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

const module = "github.com/millrace-go/millrace/"

// event is a line of `go test -json`.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// notApplicable is how the suites print a case that a capability rules out; the
// rules are lists in the suites' packages.
var notApplicable = regexp.MustCompile(`\.go:\d+: n/a( on [\w /]+)?: (.*)`)

type outcome uint8

const (
	passed outcome = iota
	ruledOut
	skipped
	failed
)

type tally struct{ passed, ruledOut, skipped, failed int }

func (t *tally) add(o outcome) {
	switch o {
	case passed:
		t.passed++
	case ruledOut:
		t.ruledOut++
	case skipped:
		t.skipped++
	case failed:
		t.failed++
	}
}

// key is a test in a run; note tells runs of one package apart.
type key struct{ pkg, note, test string }

// results are the outcomes of all tests without subtests.
type results struct {
	outcomes map[key]outcome
	output   map[key][]string
	broken   []string       // the output of failed and skipped tests
	printed  int            // how many of them
	reasons  map[string]int // of n/a, and how often
	runs     []error        // of go test
}

func newResults() *results {
	return &results{outcomes: map[key]outcome{}, output: map[key][]string{}, reasons: map[string]int{}}
}

// collect reads the events and prints progress: a line per finished package, and the output of
// its failed and skipped tests.
func (r *results) collect(note string, events io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Package == "" {
			continue // a build's own output
		}
		k := key{"./" + strings.TrimPrefix(e.Package, module), note, e.Test}
		switch e.Action {
		case "output":
			r.output[k] = append(r.output[k], e.Output)
		case "pass", "fail", "skip":
			if e.Test == "" {
				r.finishPackage(k, e, out)
			} else {
				r.finish(k, e.Action)
			}
		}
	}
	return lines.Err()
}

func (r *results) finishPackage(k key, e event, out io.Writer) {
	tests := 0
	for other := range r.outcomes {
		if other.pkg == k.pkg && other.note == k.note {
			tests++
		}
	}
	if e.Action == "fail" {
		// The package may not have been built, or have failed outside its tests.
		r.broken = append(r.broken, strings.Join(append([]string{"--- " + k.pkg + k.note + "\n"}, r.output[k]...), ""))
		r.outcomes[k] = failed
	}
	if tests > 0 || e.Action != "skip" { // "skip" is also said of a package without tests
		fmt.Fprintf(out, "%-4s %s%s (%d tests, %.0f s)\n", e.Action, k.pkg, k.note, tests, e.Elapsed)
	}
	for ; r.printed < len(r.broken); r.printed++ {
		fmt.Fprint(out, r.broken[r.printed])
	}
}

// finish records a test. Parents end after their children and add nothing to them,
// unless they failed themselves.
func (r *results) finish(k key, action string) {
	text := strings.Join(r.output[k], "")
	delete(r.output, k)
	for other := range r.outcomes {
		if other.pkg == k.pkg && other.note == k.note && strings.HasPrefix(other.test, k.test+"/") {
			if action == "fail" {
				r.broken = append(r.broken, text)
			}
			return
		}
	}
	reason := notApplicable.FindStringSubmatch(text)
	switch {
	case action == "fail":
		r.outcomes[k] = failed
		r.broken = append(r.broken, "--- "+k.pkg+k.note+"\n"+text)
	case reason != nil:
		r.outcomes[k] = ruledOut
		r.reasons[k.test[strings.LastIndexByte(k.test, '/')+1:]+": "+reason[2]]++
	case action == "skip":
		r.outcomes[k] = skipped
		r.broken = append(r.broken, "--- "+k.pkg+k.note+"\n"+text)
	default:
		r.outcomes[k] = passed
	}
}
