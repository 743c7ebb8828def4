package main

import (
	"fmt"
	"time"
)

// pace says how much time is left: the usual times of the sections, times the
// factor of this machine.
type pace struct {
	expected []time.Duration
	took     []time.Duration // of those that are done
	quick    bool
}

func newPace(all []section, quick bool) *pace {
	p := &pace{quick: quick, took: make([]time.Duration, len(all))}
	for _, s := range all {
		p.expected = append(p.expected, time.Duration(s.minutes*float64(time.Minute)))
	}
	return p
}

// done says how long a section took.
func (p *pace) done(i int, took time.Duration) { p.took[i] = took }

// left is a text about the rest, when so much of section i is done.
func (p *pace) left(i int, part float64) string {
	if p.quick {
		return "a quick run"
	}
	var usual, took, rest time.Duration
	for n, d := range p.expected {
		switch {
		case n < i:
			usual, took = usual+d, took+p.took[n]
		case n == i:
			rest += time.Duration(float64(d) * (1 - part))
		default:
			rest += d
		}
	}
	if usual > 0 {
		rest = time.Duration(float64(rest) * float64(took) / float64(usual))
	}
	return fmt.Sprintf("about %.0f min left", max(1, rest.Minutes()))
}
