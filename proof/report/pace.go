package report

import "time"

// Pace is how fast work was done, and what it cost.
type Pace struct {
	Rate float64       // pieces per second
	CPU  time.Duration // processor time of each
}

// Begin begins to measure this process. Its result ends that, when so many pieces are done.
func Begin() (end func(pieces int) Pace) {
	start, cpu := time.Now(), CPU()
	return func(pieces int) Pace {
		return Pace{float64(pieces) / time.Since(start).Seconds(), (CPU() - cpu) / time.Duration(pieces)}
	}
}

// Timed measures work of so many pieces.
func Timed(pieces int, work func() error) (Pace, error) {
	end := Begin()
	if err := work(); err != nil {
		return Pace{}, err
	}
	return end(pieces), nil
}

// Paced adds a figure of the rates of all rounds, with the processor time, and returns the
// medians of both.
func Paced[T any](r *Recorder, f Figure, all []T, of func(T) Pace) Pace {
	f.Rounds = Rounds(all, func(v T) float64 { return of(v).Rate })
	median := Pace{
		Rate: Median(all, func(v T) float64 { return of(v).Rate }),
		CPU:  Median(all, func(v T) time.Duration { return of(v).CPU }),
	}
	f.CPU = Number(Micros(median.CPU))
	r.Figure(f)
	return median
}

// Itself is the pace of a round that has one.
func (p Pace) Itself() Pace { return p }
