package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// columns are the columns of every scenario.
const (
	embedded = "embedded"
	servers  = "servers"
)

// scenario is a line of scenarios.txt.
type scenario struct {
	number int
	name   string
	ways   map[string]way // by column
}

// way is how a column proves a scenario.
type way struct {
	timed bool
	never string // the reason of n/a, "" when it runs
}

// parse reads lines "number | scenario | embedded | servers".
func parse(text string) (all []scenario, err error) {
	seen := map[int]bool{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "|")
		if len(parts) != 4 {
			return nil, fmt.Errorf("scenarios.txt: %q has not four parts: number | scenario | embedded | servers", line)
		}
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		s := scenario{name: parts[1], ways: map[string]way{}}
		if s.number, err = strconv.Atoi(parts[0]); err != nil || s.number < 1 || s.number > 99 || seen[s.number] {
			return nil, fmt.Errorf("scenarios.txt: %q has no number of its own from 1 to 99", line)
		}
		seen[s.number] = true
		for i, column := range []string{embedded, servers} {
			w, err := parseWay(parts[2+i])
			if err != nil {
				return nil, fmt.Errorf("scenarios.txt: scenario %d, %s: %w", s.number, column, err)
			}
			s.ways[column] = w
		}
		all = append(all, s)
	}
	return all, nil
}

func parseWay(text string) (way, error) {
	switch text {
	case "run":
		return way{}, nil
	case "timed":
		return way{timed: true}, nil
	}
	if reason, ok := strings.CutPrefix(text, "n/a:"); ok {
		if reason = strings.TrimSpace(reason); reason == "" {
			return way{}, errors.New("n/a without a reason")
		}
		return way{never: reason}, nil
	}
	return way{}, fmt.Errorf("%q is none of run, timed and n/a: reason", text)
}

// choose keeps the scenarios of -only, all of them when it is "".
func choose(all []scenario, only string) (chosen []scenario, err error) {
	if only == "" {
		return all, nil
	}
	want := map[int]bool{}
	for text := range strings.SplitSeq(only, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("-only %s: %q is no number; write for example 5,9", only, text)
		}
		want[n] = true
	}
	for _, s := range all {
		if want[s.number] {
			chosen = append(chosen, s)
			delete(want, s.number)
		}
	}
	for n := range want {
		return nil, fmt.Errorf("-only %s: there is no scenario %d; there are 1 to %d", only, n, len(all))
	}
	return chosen, nil
}
