package cheats

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Errors of a run.
var (
	ErrBroken = errors.New("cheats: a promise is broken")
	ErrSlow   = errors.New("cheats: too many people polled late to judge the order; give the machine fewer people, or more time")
)

// tardy is how late a poll may be answered of a person who is judged by the order.
const tardy = time.Second

// tolerance is the time between two polls with its jitter, the age of a snapshot, a tick, and
// how late a poll may be.
const tolerance = 3500*time.Millisecond + tardy

// finding is one of the promises.
type finding struct {
	what   string
	broken int
	saw    string
	err    error // when broken
}

// judge reads the logs of all people, at the end of the run.
func judge(cfg Config, people []*person, losses []span, end time.Duration) []finding {
	most := peak(people, end)
	over := max(0, most-cfg.Threshold)
	all, judged, late := 0, 0, 0
	behind, lost, twice := 0, 0, 0
	example := ""
	passed := inverted(people, losses)
	for _, p := range people {
		if p.kind != honest || p.arrival.to == 0 {
			continue
		}
		all++
		if p.none > 0 {
			lost++
		}
		entered := 0
		for _, s := range p.stays {
			if !s.lost {
				entered++
			}
		}
		if entered > 1 {
			twice++
		}
		if p.behind > 0 {
			behind++
			example = fmt.Sprintf("; %s was told a position above the number who had come", p.name)
		}
		if passed[p] {
			behind++
			example = fmt.Sprintf("; %s was told a higher position than a person who came later", p.name)
		}
		if slices.ContainsFunc(p.late, func(d time.Duration) bool { return d > tardy }) {
			late++
			continue
		}
		judged++
		if o, in := overtaken(p, people, end); o != "" {
			behind++
			example = fmt.Sprintf("; %s, who came at %s, was passed by %s at %s", p.name, p.arrival.to.Round(time.Millisecond), o, in.Round(time.Millisecond))
		}
	}
	return []finding{
		{"no more than the threshold are inside", over, fmt.Sprintf("at most %d of %d", most, cfg.Threshold), ErrBroken},
		{"no honest person is behind the arrival", behind, fmt.Sprintf("%d of %d%s", behind, judged, example), ErrBroken},
		{"no honest person is lost", lost, fmt.Sprintf("%d of %d", lost, all), ErrBroken},
		{"no honest person is let in twice", twice, fmt.Sprintf("%d of %d", twice, all), ErrBroken},
		{"the machine is fast enough to judge", max(0, late-all/10), fmt.Sprintf("%d of %d polled late", late, all), ErrSlow},
	}
}

// overtaken finds a person who came later and was inside before.
func overtaken(p *person, people []*person, end time.Duration) (by string, in time.Duration) {
	entered, since := end, p.since
	for _, s := range p.stays {
		if !s.lost || s.to > 0 { // or the person finished before an answer told of the loss
			entered, since = s.from, s.since
			break
		}
	}
	for _, o := range people {
		for _, s := range o.stays {
			if !s.lost && s.arrival.from > p.arrival.to && s.from > since && entered-s.from > tolerance {
				return o.name, s.from
			}
		}
	}
	return "", 0
}

// peak is the highest number of people who knew at the same time that they were inside.
func peak(people []*person, end time.Duration) (most int) {
	type step struct {
		at   time.Duration
		more int
	}
	var steps []step
	for _, p := range people {
		for _, s := range p.stays {
			if s.lost {
				continue
			}
			to := s.to
			if to == 0 {
				to = min(end, p.until)
			}
			if to > s.from {
				steps = append(steps, step{s.from, 1}, step{to, -1})
			}
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.more, b.more)) })
	inside := 0
	for _, s := range steps {
		inside += s.more
		most = max(most, inside)
	}
	return most
}

// verdict writes the findings.
func verdict(findings []finding, out io.Writer) error {
	fmt.Fprintln(out)
	var err error
	for _, f := range findings {
		mark := "ok"
		if f.broken > 0 {
			mark, err = "BROKEN", cmp.Or(err, f.err)
		}
		fmt.Fprintf(out, "  %-42s  %-6s  %s\n", f.what, mark, f.saw)
	}
	return err
}
