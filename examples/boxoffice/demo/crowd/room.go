package crowd

import (
	"fmt"
	"sync"
	"time"
)

// Passage is how a fan got into the sale of a show that it was not inside of.
type Passage struct {
	Event string
	// Asked is when the fan arrived, and Told when it had the first answer: somewhere
	// between it was let in, or lined up.
	Asked, Told time.Time
	// Queued is when it was last told to wait, and Open when it was while some seat was free;
	// zero when it never was.
	Queued, Open time.Time
	// Entered is when it knew that it was inside.
	Entered time.Time
}

// Waited reports whether the fan stood in line.
func (p Passage) Waited() bool { return !p.Queued.IsZero() }

// Rooms has the fans' observations of the waiting rooms.
type Rooms struct {
	Passages []Passage // of fans that got inside
	Longest  int       // the most people in one line, in any answer
	Fullest  int       // the most places taken in one show
	Places   int       // that there were then
	// Beyond are answers by which more places were taken than there are: the first
	// few, and how many there were.
	Beyond  []string
	Beyonds int
	// Back are answers that moved a fan further back in the line: the first few, and
	// Backs their number. Processes that take turns may know the line of another moment;
	// then none is recorded.
	Back  []string
	Backs int
}

// rooms collects the observations. It is safe for concurrent use.
type rooms struct {
	mu   sync.Mutex
	seen Rooms
}

// answered records an answer of a room.
func (r *rooms) answered(event string, p Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen.Longest = max(r.seen.Longest, p.QueueSize)
	if p.CurrentUsers > r.seen.Fullest {
		r.seen.Fullest, r.seen.Places = p.CurrentUsers, p.Threshold
	}
	if p.CurrentUsers > p.Threshold {
		r.seen.Beyonds++
		if len(r.seen.Beyond) < 3 {
			r.seen.Beyond = append(r.seen.Beyond, fmt.Sprintf("%d inside %s, where %d may be", p.CurrentUsers, event, p.Threshold))
		}
	}
}

// moved records a fan whose position in the line went back.
func (r *rooms) moved(event string, from, to int) {
	if to <= from {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen.Backs++
	if len(r.seen.Back) < 3 {
		r.seen.Back = append(r.seen.Back, fmt.Sprintf("position %d in the line of %s became %d", from, event, to))
	}
}

func (r *rooms) passed(p Passage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen.Passages = append(r.seen.Passages, p)
}

// Rooms returns the fans' observations of the waiting rooms. Call it after Run.
func (c *Crowd) Rooms() Rooms {
	c.rooms.mu.Lock()
	defer c.rooms.mu.Unlock()
	out := c.rooms.seen
	out.Passages = append([]Passage(nil), out.Passages...)
	out.Beyond, out.Back = append([]string(nil), out.Beyond...), append([]string(nil), out.Back...)
	return out
}
