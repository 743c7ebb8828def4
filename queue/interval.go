package queue

import (
	"fmt"
	"math"
	"time"
)

// Interval is the poll interval at positions up to UpTo: a line of
// Config.Intervals.
type Interval struct {
	UpTo  int
	Every time.Duration
}

// jitter is the random part of an interval, so that users do not poll together for
// ever because they arrived together.
const jitter = 0.1

// defaultIntervals are those of a zero Config.
func defaultIntervals() []Interval {
	return []Interval{
		{0, 3 * time.Second}, // not in line: inside, or nowhere
		{1_000, time.Second},
		{5_000, 5 * time.Second},
		{10_000, 10 * time.Second},
		{100_000, 30 * time.Second},
		{math.MaxInt, time.Minute},
	}
}

// nextPoll is the time to the next poll at a position; chance is in [0, 1). A table ends
// with math.MaxInt.
func nextPoll(table []Interval, position int, chance float64) time.Duration {
	for _, line := range table {
		if position <= line.UpTo {
			return line.Every + time.Duration(jitter*chance*float64(line.Every))
		}
	}
	return 0
}

// longest is the longest interval of a table, with its jitter.
func longest(table []Interval) (most time.Duration) {
	for _, line := range table {
		most = max(most, line.Every)
	}
	return most + time.Duration(jitter*float64(most))
}

func checkIntervals(table []Interval) error {
	for i, line := range table {
		switch {
		case line.Every <= 0:
			return fmt.Errorf("queue: Config.Intervals[%d].Every is %s; give a positive duration", i, line.Every)
		case i > 0 && line.UpTo <= table[i-1].UpTo:
			return fmt.Errorf("queue: Config.Intervals[%d].UpTo is %d, which is not above %d; order the table by position", i, line.UpTo, table[i-1].UpTo)
		}
	}
	if end := table[len(table)-1].UpTo; end != math.MaxInt {
		return fmt.Errorf("queue: Config.Intervals ends at position %d; let the last line be UpTo math.MaxInt", end)
	}
	return nil
}
