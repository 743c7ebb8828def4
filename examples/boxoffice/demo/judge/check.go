package judge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
)

// Errors of a run. A broken promise counts before a lost control.
var (
	ErrBroken  = errors.New("a promise is broken")
	ErrNoProof = errors.New("this run proves nothing")
)

// Kind says what it means when a check does not hold.
type Kind uint8

// The kinds.
const (
	Promise Kind = iota // broken: the run fails
	Aim                 // missed, which depends on the machine
	Basis               // the run proves nothing, and fails
)

// Check is one statement that must be true.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Kind   Kind   `json:"-"`
}

// That is a promise.
func That(name string, ok bool, format string, args ...any) Check {
	return Check{Name: name, OK: ok, Detail: fmt.Sprintf(format, args...)}
}

// Goal is what the machine should reach.
func Goal(name string, ok bool, format string, args ...any) Check {
	return Check{Name: name, OK: ok, Detail: fmt.Sprintf(format, args...), Kind: Aim}
}

// Control is what has to be so for the promises to be proven by the run.
func Control(name string, ok bool, format string, args ...any) Check {
	return Check{Name: name, OK: ok, Detail: fmt.Sprintf(format, args...), Kind: Basis}
}

// Mark is the word of a check in the table.
func (c Check) Mark() string {
	switch {
	case c.OK:
		return "ok"
	case c.Kind == Aim:
		return "MISSED"
	case c.Kind == Basis:
		return "UNSURE"
	}
	return "BROKEN"
}

// fails reports whether a check of a kind does not hold.
func fails(kind Kind) func(Check) bool {
	return func(c Check) bool { return !c.OK && c.Kind == kind }
}

// Verdict is [ErrBroken], [ErrNoProof], or nil when all promises hold. No check at all
// is no proof.
func Verdict(checks []Check) error {
	switch {
	case slices.ContainsFunc(checks, fails(Promise)):
		return ErrBroken
	case len(checks) == 0 || slices.ContainsFunc(checks, fails(Basis)):
		return ErrNoProof
	}
	return nil
}

// Table has a line for each check.
func Table(s *screen.Screen, checks []Check) string {
	if len(checks) == 0 {
		return "  " + s.Bad("none") + "\n"
	}
	name := 0
	for _, c := range checks {
		name = max(name, len([]rune(c.Name)))
	}
	var b strings.Builder
	for _, c := range checks {
		mark := fmt.Sprintf("%-6s", c.Mark())
		switch {
		case c.OK:
			mark = s.Good(mark)
		case c.Kind != Aim:
			mark = s.Bad(mark)
		}
		indent := 2 + 6 + 2 + name + 2
		if width := s.Width(); width > 0 && width < indent+30 {
			indent = 10 // a narrow terminal: details below the name
			fmt.Fprintf(&b, "  %s  %s\n%s%s\n", mark, c.Name, strings.Repeat(" ", indent), screen.Wrap(c.Detail, width-indent, indent))
			continue
		}
		line := fmt.Sprintf("  %s  %-*s  %s", mark, name, c.Name, screen.Wrap(c.Detail, s.Width()-indent, indent))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Line is the last line of a run.
func Line(s *screen.Screen, checks []Check) string {
	count := func(kind Kind) (n int) {
		for _, c := range checks {
			if fails(kind)(c) {
				n++
			}
		}
		return n
	}
	broken, unsure, missed := count(Promise), count(Basis), ""
	if n := count(Aim); n > 0 {
		missed = fmt.Sprintf("; missed goals: %d", n)
	}
	switch {
	case broken > 0:
		return fmt.Sprintf("%s: %d of %d checks do not hold%s\n", s.Bad("BROKEN"), broken, len(checks), missed)
	case unsure > 0 || len(checks) == 0:
		return fmt.Sprintf("%s: %d of %d checks do not hold, without which the run proves nothing%s\n", s.Bad("UNSURE"), unsure, len(checks), missed)
	case missed != "":
		return fmt.Sprintf("%s: all promises hold%s\n", s.Good("OK"), missed)
	}
	return fmt.Sprintf("%s: all %d checks hold\n", s.Good("OK"), len(checks))
}

// Conclude prints the table and the last line, and returns the verdict.
func Conclude(s *screen.Screen, checks []Check) error {
	s.Print("\n%s\n%s", Table(s, checks), Line(s, checks))
	return Verdict(checks)
}
