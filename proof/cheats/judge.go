package cheats

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
)

// tardy is how late a poll may be answered of a person who is judged by the order.
const tardy = time.Second

// tolerance is the time between two polls with its jitter, the age of a snapshot, a tick, and
// how late a poll may be.
const tolerance = 3500*time.Millisecond + tardy

// findings reads the logs of all people, at the end of the run.
func findings(cfg Config, people []*person, losses []span, end time.Duration) []judge.Check {
	most := judge.Peak(inside(people, end))
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
	return []judge.Check{
		judge.That("no more than the threshold are inside", most <= cfg.Threshold, "at most %d of %d", most, cfg.Threshold),
		judge.That("no honest person is behind the arrival", behind == 0, "%d of %d%s", behind, judged, example),
		judge.That("no honest person is lost", lost == 0, "%d of %d", lost, all),
		judge.That("no honest person is let in twice", twice == 0, "%d of %d", twice, all),
		judge.Control("the machine is fast enough to judge", judged > 0 && late <= all/10, "%d of %d polled late; give it fewer people, or more time", late, all),
		judge.Control("as many are inside as may be", most >= cfg.Threshold, "%d of %d places were never taken", max(0, cfg.Threshold-most), cfg.Threshold),
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

// inside are the times at which people knew that they were inside.
func inside(people []*person, end time.Duration) (stays []judge.Span) {
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
				stays = append(stays, judge.Span{From: s.from, To: to})
			}
		}
	}
	return stays
}
