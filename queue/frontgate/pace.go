package frontgate

import (
	"math/rand/v2"
	"time"
)

// The bounds of Turn.NextPoll.
const (
	minPoll = 2 * time.Second
	maxPoll = 15 * time.Second
)

// nextPoll is the time until the next poll at a distance from the serving counter:
// from 2 s, growing with the distance, to 13.6 s at 20 rounds, and up to a tenth
// more of random jitter, so that visitors who came together do not stay together.
func (g *Gate) nextPoll(distance int64) time.Duration {
	return pollAfter(distance, g.cfg.Step, rand.Float64())
}

func pollAfter(distance, step int64, chance float64) time.Duration {
	const far = 20 // rounds
	share := min(1, max(0, float64(distance-1)/float64(far*step)))
	longest := float64(maxPoll) / 1.1
	base := float64(minPoll) + share*(longest-float64(minPoll))
	return time.Duration(base * (1 + chance/10)).Truncate(time.Millisecond)
}

// moves are the rises of the serving counter within about the last minute, as this process
// saw them, the oldest first.
type moves []moment

type moment struct {
	at      time.Time
	serving int64
}

const (
	moments  = 16
	memory   = time.Minute
	interval = memory / (moments - 1)
)

func (m *moves) add(at time.Time, serving int64) {
	seen := *m
	if n := len(seen); n > 0 && at.Sub(seen[n-1].at) < interval {
		return
	}
	if len(seen) == moments {
		seen = seen[1:]
	}
	*m = append(seen, moment{at, serving})
}

// since is the oldest moment of the last minute; false when none is at least two
// rounds old, without which a rate says little.
func (m moves) since(now time.Time, every time.Duration) (moment, bool) {
	for _, one := range m {
		if age := now.Sub(one.at); age <= memory+interval {
			return one, age >= 2*every
		}
	}
	return moment{}, false
}

// wait estimates the time for a distance: by the rate of the last minute, and
// without one by the configured rounds.
func (k *known) wait(distance int64, cfg Config) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if from, ok := k.moves.since(now, cfg.Every); ok && k.state.Serving > from.serving {
		rate := float64(k.state.Serving-from.serving) / now.Sub(from.at).Seconds()
		return seconds(float64(distance) / rate)
	}
	return seconds(float64((distance+cfg.Step-1)/cfg.Step) * cfg.Every.Seconds())
}

func seconds(s float64) time.Duration {
	const longest = 24 * 60 * 60
	return max(time.Millisecond, time.Duration(min(s, longest)*float64(time.Second)).Truncate(time.Millisecond))
}
