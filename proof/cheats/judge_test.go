package cheats

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
)

const end = 100 * time.Second

// sound is a crowd of ten who come one after the other, and are inside for 5 s each, two at
// a time. Every second one cheats.
func sound() (people []*person) {
	for i := range 10 {
		at := time.Duration(i) * time.Second
		p := &person{name: name(i), kind: kind(i % 2), rank: i + 1, arrival: span{at, at + time.Millisecond}}
		in := 10*time.Second + time.Duration(i/2)*6*time.Second
		p.stays = []stay{{span: span{in, in + 5*time.Second}, arrival: p.arrival}}
		people = append(people, p)
	}
	return people
}

func TestJudge(t *testing.T) {
	cfg := Config{Threshold: 2}.withDefaults()
	for _, c := range []struct {
		name   string
		change func([]*person)
		want   string
	}{
		{"all is well", func([]*person) {}, "[0 0 0 0 0 0]"},
		{"three inside", func(all []*person) { all[1].stays[0].to = 20 * time.Second }, "[1 0 0 0 0 0]"},
		{"three inside, one in a lost second", func(all []*person) {
			all[1].stays[0].to, all[1].stays[0].lost = 20*time.Second, true
		}, "[0 0 0 0 0 0]"},
		{"a place that is over", func(all []*person) { all[1].stays[0].to, all[1].until = 0, 15*time.Second }, "[0 0 0 0 0 0]"},
		{"a place that lasts", func(all []*person) { all[1].stays[0].to, all[1].until = 0, 25*time.Second }, "[1 0 0 0 0 0]"},
		{"a cheat passes four honest people", func(all []*person) { all[9].stays[0].span = span{time.Second, 2 * time.Second} }, "[0 5 0 0 0 0]"},
		{"an honest person still in line", func(all []*person) { all[6].stays = nil }, "[0 1 0 0 0 0]"},
		{"the last of all still in line", func(all []*person) { all[8].stays, all[9].stays = nil, nil }, "[0 0 0 0 0 0]"},
		{"passed after the loss of the place", func(all []*person) {
			all[6].stays[0].lost, all[6].stays[0].to = true, 0
			all[6].since = 30 * time.Second
		}, "[0 1 0 0 0 0]"},
		{"passed before the answer that tells of the loss", func(all []*person) {
			all[6].stays[0].lost, all[6].stays[0].to = true, 0
			all[6].stays = append(all[6].stays, stay{span: span{50 * time.Second, 55 * time.Second}, arrival: all[6].arrival, since: 45 * time.Second})
		}, "[0 0 0 0 0 0]"},
		{"positions that fall", func(all []*person) {
			all[4].told = []told{{20 * time.Second, 5}, {24 * time.Second, 3}}
			all[6].told = []told{{20 * time.Second, 6}, {24 * time.Second, 4}}
		}, "[0 0 0 0 0 0]"},
		{"a later person had a lower position", func(all []*person) {
			all[4].told = []told{{24 * time.Second, 6}}
			all[6].told = []told{{20 * time.Second, 5}, {21 * time.Second, 6}}
		}, "[0 1 0 0 0 0]"},
		{"an earlier person had a lower position", func(all []*person) {
			all[6].told = []told{{24 * time.Second, 6}}
			all[4].told = []told{{20 * time.Second, 5}}
		}, "[0 0 0 0 0 0]"},
		{"a lower position a moment ago", func(all []*person) {
			all[4].told = []told{{24 * time.Second, 6}}
			all[6].told = []told{{22 * time.Second, 5}}
		}, "[0 0 0 0 0 0]"},
		{"a lower position before a loss", func(all []*person) {
			all[4].told = []told{{80 * time.Second, 6}}
			all[6].told = []told{{20 * time.Second, 5}}
		}, "[0 0 0 0 0 0]"},
		{"a lower position while the line forms again", func(all []*person) {
			all[4].told = []told{{80 * time.Second, 6}}
			all[6].told = []told{{65 * time.Second, 5}}
		}, "[0 0 0 0 0 0]"},
		{"a lower position after a loss", func(all []*person) {
			all[4].told = []told{{80 * time.Second, 6}}
			all[6].told = []told{{75 * time.Second, 5}}
		}, "[0 1 0 0 0 0]"},
		{"a high position", func(all []*person) { all[4].behind++ }, "[0 1 0 0 0 0]"},
		{"out of the line", func(all []*person) { all[4].none++ }, "[0 0 1 0 0 0]"},
		{"a cheat out of the line", func(all []*person) { all[5].none++ }, "[0 0 0 0 0 0]"},
		{"twice", func(all []*person) {
			all[4].stays = append(all[4].stays, stay{span: span{60 * time.Second, 61 * time.Second}, arrival: all[4].arrival})
		}, "[0 0 0 1 0 0]"},
		{"late polls", func(all []*person) {
			all[6].stays = nil
			all[6].polled(2 * time.Second)
		}, "[0 0 0 0 1 0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			people := sound()
			c.change(people)
			var broken []int
			checks := findings(cfg, people, []span{{60 * time.Second, 61 * time.Second}}, end)
			for _, check := range checks {
				n, most := 0, 0
				if _, err := fmt.Sscanf(check.Detail, "at most %d of %d", &most, &n); err == nil {
					n = max(0, most-n)
				} else if _, err := fmt.Sscanf(check.Detail, "%d", &n); err != nil {
					t.Fatal(err)
				}
				require.Equal(t, n == 0, check.OK, "%+v", check)
				broken = append(broken, n)
			}
			require.Equal(t, c.want, fmt.Sprint(broken), "%+v", checks)
			switch err := judge.Verdict(checks); c.want {
			case "[0 0 0 0 0 0]":
				require.NoError(t, err)
			case "[0 0 0 0 1 0]":
				require.ErrorIs(t, err, judge.ErrNoProof)
			default:
				require.ErrorIs(t, err, judge.ErrBroken)
			}
		})
	}
}

// A room that lets no one in passes no person over.
func TestNothingProven(t *testing.T) {
	cfg := Config{Threshold: 2}.withDefaults()
	for name, change := range map[string]func(*person){
		"no answer at all": func(p *person) { p.arrival, p.stays = span{}, nil },
		"no one is let in": func(p *person) { p.stays = nil },
		"one place is left": func(p *person) {
			p.stays[0].from += time.Duration(p.rank%2) * 2 * time.Second
			p.stays[0].to = p.stays[0].from + time.Second
		},
		"all are cheats": func(p *person) { p.kind = silent },
	} {
		people := sound()
		for _, p := range people {
			change(p)
		}
		checks := findings(cfg, people, nil, end)
		require.ErrorIs(t, judge.Verdict(checks), judge.ErrNoProof, "%s: %+v", name, checks)
	}
}

func TestLastPollsCount(t *testing.T) {
	var p person
	p.polled(time.Minute)
	for range 5 {
		p.polled(time.Millisecond)
	}
	require.NotContains(t, p.late, time.Minute)
	require.Len(t, p.late, 5)
}

func TestConfig(t *testing.T) {
	require.NoError(t, Config{}.withDefaults().validate())
	for _, cfg := range []Config{
		{People: 9}, {Threshold: -1}, {For: time.Second}, {Stay: -1}, {Active: time.Second}, {Kill: -1}, {Lose: time.Minute}, {Promote: time.Second},
	} {
		require.Error(t, cfg.withDefaults().validate(), "%+v", cfg)
	}
}
