package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// The verdicts of a cell.
const (
	held  = "ok"
	fails = "FAILED"
	never = "n/a"
)

// cell is a scenario on a column.
type cell struct {
	Number  int      `json:"number"`
	Name    string   `json:"scenario"`
	Column  string   `json:"column"`
	Verdict string   `json:"verdict"`
	Reason  string   `json:"reason,omitempty"`  // of n/a, or the failure
	Figures []string `json:"figures,omitempty"` // measured
	Rounds  int      `json:"rounds,omitempty"`  // how often the whole test ran
	Seconds float64  `json:"seconds"`
	output  string
}

// event is a line of `go tool test2json`.
type event struct {
	Action, Test, Output string
}

// figure is the line by which a test reports a measurement.
var figure = regexp.MustCompile(`\.go:\d+: measured: (.*)`)

// judge reads the events of a scenario's test and decides whether it holds: some test
// of it passed, as often as it ran, and none failed or was skipped. ended is the
// process's own end.
func judge(c *cell, events io.Reader, times int, ended func() error) error {
	var output strings.Builder
	passes, failed, skipped := 0, []string{}, []string{}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("the test's output: %w", err)
		}
		switch e.Action {
		case "output":
			output.WriteString(e.Output)
			if m := figure.FindStringSubmatch(e.Output); m != nil {
				c.Figures = append(c.Figures, strings.TrimSpace(m[1]))
			}
		case "pass":
			if e.Test != "" && !strings.Contains(e.Test, "/") {
				passes++
			}
		case "fail":
			if e.Test != "" {
				failed = append(failed, e.Test)
			}
		case "skip":
			skipped = append(skipped, e.Test)
		}
	}
	err := errors.Join(lines.Err(), ended())
	c.Rounds, c.output = times, output.String()
	switch {
	case len(failed) > 0:
		c.Verdict, c.Reason = fails, "failed: "+strings.Join(failed, ", ")
	case len(skipped) > 0:
		c.Verdict, c.Reason = fails, "skipped: "+strings.Join(skipped, ", ")
	case err != nil:
		c.Verdict, c.Reason = fails, err.Error()
	case passes != times:
		c.Verdict, c.Reason = fails, fmt.Sprintf("%d tests passed, want %d", passes, times)
	default:
		c.Verdict = held
	}
	return nil
}

// testOf matches the test of a scenario.
func testOf(number int) string { return fmt.Sprintf("^TestScenario%02d", number) }

// report is the content of build/prove.json.
type report struct {
	Began   time.Time `json:"began"`
	Seconds float64   `json:"seconds"`
	Cores   int       `json:"cores"`
	Go      string    `json:"go"`
	Cells   []cell    `json:"cells"`
}

// verdict is an error when a cell failed, nothing ran, or it took too long.
func (r report) verdict(within time.Duration) error {
	var broken []string
	ran := 0
	for _, c := range r.Cells {
		switch c.Verdict {
		case fails:
			broken = append(broken, fmt.Sprintf("%d on %s", c.Number, c.Column))
			ran++
		case held:
			ran++
		}
	}
	took := time.Duration(r.Seconds * float64(time.Second))
	switch {
	case len(broken) > 0:
		return fmt.Errorf("%d of %d do not hold: %s", len(broken), ran, strings.Join(broken, ", "))
	case ran == 0:
		return errors.New("nothing ran")
	case took > within:
		return fmt.Errorf("all %d hold, and it took %v, more than %v: the machine is busy, or a scenario has become slow", ran, took.Round(time.Second), within)
	}
	return nil
}
