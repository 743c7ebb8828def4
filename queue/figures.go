package queue

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// Minute is what happened in an event's room within a minute.
type Minute struct {
	Start    time.Time
	Joined   int64 // lined up, or let in at once
	Admitted int64 // their turn came, or they were let in at once
	TurnedUp int64 // took a place
	Finished int64 // were inside, and are not any more
	Gone     int64 // left the line, or were removed from it, without a turn
	Laned    int64 // of Admitted: their turn came by the share of a lane
	Returned int64 // came back to a kept place
	// At the end of the minute:
	Waiting   int
	Returning int // of Waiting: returners
	Active    int // places taken
	Stock     int // how many users the event could serve; -1 while that was not known
	// Median and P95 are the times in line of the Timed users whose turn came, within a
	// tenth and the time between two joins that the process has seen.
	Median, P95 time.Duration
	Timed       int64
}

// ErrNoFigures says that the store of a room keeps no figures.
var ErrNoFigures = errors.New("queue: the store keeps no figures")

// Figures are what happened by minute, from the first to the last minute in which the room
// was in use, within KeepFigures. The first one also has what came before it. What
// happened in the last 5 s of a minute may be counted in the next.
func (r *Room) Figures(ctx context.Context, event string) ([]Minute, error) {
	if err := checkEvent(event); err != nil {
		return nil, err
	}
	recorder, ok := r.store.(driver.Recorder)
	if !ok {
		return nil, ErrNoFigures
	}
	ctx, cancel := r.boundedBy(ctx)
	defer cancel()
	samples, err := recorder.Samples(ctx, event)
	if err != nil {
		return nil, refused(ctx, err)
	}
	var minutes []Minute
	before := driver.Sample{}
	for i, s := range samples {
		for at := before.Minute + 1; i > 0 && at < s.Minute; at++ { // the room was not in use
			minutes = append(minutes, Minute{Start: time.Unix(at*60, 0).UTC()})
		}
		if s.Epoch != before.Epoch {
			before = driver.Sample{}
		}
		minutes = append(minutes, minuteOf(s, before))
		before = s
	}
	return minutes, nil
}

// minuteOf is the minute of a sample, after an earlier one of its epoch.
func minuteOf(s, b driver.Sample) Minute {
	m := Minute{Start: time.Unix(s.Minute*60, 0).UTC(), Waiting: s.Waiting, Returning: s.Returning, Active: s.Active, Stock: -1, Laned: s.Laned}
	if s.Stock != nil {
		m.Stock = *s.Stock
	}
	// A store that has lost its last writes has lower counts. Nothing but the sums is counted of
	// the rest; a user that is back after a missed turn lowers them.
	m.Returned = max(0, s.Returned-b.Returned)
	m.Joined = max(0, s.Joined-b.Joined)
	m.Admitted = max(0, turnsOf(s)-turnsOf(b))
	m.TurnedUp = max(0, s.Entered-b.Entered)
	m.Finished = max(0, finishedOf(s)-finishedOf(b))
	m.Gone = max(0, goneOf(s)-goneOf(b))
	m.Median, m.P95 = quantile(s.Waits, 0.5), quantile(s.Waits, 0.95)
	for _, n := range s.Waits {
		m.Timed += n
	}
	return m
}

func turnsOf(s driver.Sample) int64 { return s.Entered + s.NoShows + int64(s.Entitled) }

func finishedOf(s driver.Sample) int64 { return s.Entered - int64(s.Active) }

func goneOf(s driver.Sample) int64 { return s.Joined - s.Entered - s.NoShows - int64(s.Waiting) }

// growth is the ratio of a bucket's bounds.
const growth = 1.1

// waitBucket is the bucket of a time in line: 0 up to 0.1 s, then each a tenth longer.
func waitBucket(wait time.Duration) int {
	return int(math.Log(1+max(0, wait.Seconds()))/math.Log(growth) + 0.5)
}

// quantile is the time that a share of the users has waited for at most.
func quantile(waits map[int]int64, share float64) time.Duration {
	var buckets []int
	total := int64(0)
	for b, n := range waits {
		buckets, total = append(buckets, b), total+n
	}
	slices.Sort(buckets)
	sum := int64(0)
	for _, b := range buckets {
		if sum += waits[b]; float64(sum) >= share*float64(total) {
			return time.Duration((math.Pow(growth, float64(b)) - 1) * float64(time.Second)).Round(100 * time.Millisecond)
		}
	}
	return 0
}
