package doctor

import (
	"fmt"
	"strings"
	"time"
)

// lap measures one request.
type lap struct{ asked, answered time.Time }

func (l lap) took() time.Duration { return l.answered.Sub(l.asked).Round(100 * time.Microsecond) }

// reading is how far a server's clock is behind ours, and the uncertainty.
type reading struct {
	who    string
	behind time.Duration
	give   time.Duration
}

// apart is the difference from which clocks count as different.
const apart = time.Second

// clock compares the clock of a server, or of one of its nodes, with ours. A request has
// read it between its begin and its answer.
func (e *examination) clock(which string, server time.Time, l lap) {
	half := l.answered.Sub(l.asked) / 2
	behind := l.asked.Add(half).Sub(server)
	e.clocks = append(e.clocks, reading{which, behind, half})
	if behind.Abs()-half <= apart {
		e.ok("clock", "%sits clock and ours agree within %s", which, max(behind.Abs(), half, time.Millisecond).Round(time.Millisecond))
		return
	}
	word := "behind"
	if behind < 0 {
		word = "ahead of"
	}
	e.add(Warning, "clock", fmt.Sprintf("%sits clock is %s %s ours", which, behind.Abs().Round(10*time.Millisecond), word),
		"run NTP (chrony, systemd-timesyncd) on both machines: ages, retention and the end of tokens are off by as much")
}

// compareClocks warns of two servers whose clocks differ, although each is near enough to
// ours: one decides about leases and places, the other about ages.
func compareClocks(all []*examination) {
	var first, last reading
	var ahead *examination
	var from string
	for _, e := range all {
		for _, r := range e.clocks {
			if r.behind.Abs()-r.give > apart {
				continue // reported already
			}
			if ahead == nil || r.behind < first.behind {
				first, ahead = r, e
			}
			if from == "" || r.behind > last.behind {
				last, from = r, e.shown()
				if node := strings.TrimSuffix(r.who, ": "); node != "" {
					from = node + " of " + from
				}
			}
		}
	}
	differ := last.behind - first.behind
	if ahead == nil || differ-first.give-last.give <= apart {
		return
	}
	ahead.add(Warning, "clock", fmt.Sprintf("%sits clock is %s ahead of that of %s", first.who, differ.Round(10*time.Millisecond), from),
		"run NTP (chrony, systemd-timesyncd) on both servers: what one calls over is not over for the other")
}
