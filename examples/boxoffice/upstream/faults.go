package upstream

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// The kinds of a [Fault].
const (
	FaultStatus    = "status"    // an error answer with Status
	FaultTruncated = "truncated" // 200 with JSON that ends in the middle
	FaultMalformed = "malformed" // 200 with as many bytes as ever, and not JSON
	FaultDrop      = "drop"      // 200, and the connection breaks within the body
	FaultDelay     = "delay"     // DelayMs, and up to JitterMs more, before the answer
)

// Bounds of a [Fault].
const (
	maxRules   = 100
	maxDelayMs = 600_000
)

// Fault is a rule: the fault, its calls, its rate and its number. Delays of several
// rules add up; of the other kinds the oldest rule decides.
type Fault struct {
	ID   int64  `json:"id"` // given by the upstream
	Kind string `json:"kind"`
	// Artists limits the rule to some ids; all when empty. They need not exist.
	Artists []string `json:"artists,omitempty"`
	// Rate is the share of matching calls, above 0 and up to 1; all when 0.
	Rate float64 `json:"rate,omitempty"`
	// Calls is how many calls it still happens to; until it is cleared when 0.
	Calls int64 `json:"calls,omitempty"`

	Status   int   `json:"status,omitempty"`
	DelayMs  int64 `json:"delayMs,omitempty"`
	JitterMs int64 `json:"jitterMs,omitempty"`
}

func (f Fault) validate() *problem {
	switch {
	case !slices.Contains([]string{FaultStatus, FaultTruncated, FaultMalformed, FaultDrop, FaultDelay}, f.Kind):
		return invalid("kind", "kind %.40q is unknown: use status, truncated, malformed, drop or delay", f.Kind)
	case f.ID != 0:
		return invalid("id", "id is given by the upstream: leave it out")
	case f.Rate < 0 || f.Rate > 1:
		return invalid("rate", "rate %v is out of range: use more than 0 and up to 1, or leave it out for every call", f.Rate)
	case f.Calls < 0:
		return invalid("calls", "calls %d is negative: use 1 or more, or leave it out for no end", f.Calls)
	case len(f.Artists) > Artists:
		return invalid("artists", "%d artists are too many: leave artists out for all of them", len(f.Artists))
	case f.Kind == FaultStatus && (f.Status < 400 || f.Status > 599):
		return invalid("status", "status %d is no error: use 400 to 599", f.Status)
	case f.Kind != FaultStatus && f.Status != 0:
		return invalid("status", "status belongs to the kind status, not to %s", f.Kind)
	case f.DelayMs < 0 || f.JitterMs < 0 || f.DelayMs > maxDelayMs || f.JitterMs > maxDelayMs:
		return invalid("delayMs", "delayMs and jitterMs must be 0 to %d", maxDelayMs)
	case f.Kind == FaultDelay && f.DelayMs+f.JitterMs == 0:
		return invalid("delayMs", "a delay needs delayMs, jitterMs or both")
	case f.Kind != FaultDelay && f.DelayMs+f.JitterMs != 0:
		return invalid("delayMs", "delayMs and jitterMs belong to the kind delay, not to %s", f.Kind)
	}
	return nil
}

// rules are the faults in force, oldest first.
type rules struct {
	roll func() float64

	mu    sync.Mutex
	next  int64
	list  []Fault
	given map[string]int64
}

func newRules() *rules { return &rules{roll: rand.Float64, given: map[string]int64{}} }

// effect has the faults of one call.
type effect struct {
	delay  time.Duration
	kind   string // of status, truncated, malformed and drop
	status int
}

// strike decides about a call and uses up rules for a number of calls.
func (r *rules) strike(id string) (e effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		f := &r.list[i]
		if len(f.Artists) > 0 && !slices.Contains(f.Artists, id) {
			continue
		}
		if f.Kind != FaultDelay && e.kind != "" {
			continue // an older rule decided
		}
		if f.Rate > 0 && r.roll() >= f.Rate {
			continue
		}
		name := f.Kind
		switch f.Kind {
		case FaultDelay:
			e.delay += draw(f.DelayMs, f.JitterMs)
		case FaultStatus:
			e.kind, e.status = f.Kind, f.Status
			name += "_" + strconv.Itoa(f.Status)
		default:
			e.kind = f.Kind
		}
		r.given[name]++
		if f.Calls > 0 {
			if f.Calls--; f.Calls == 0 {
				f.Calls = -1 // used up
			}
		}
	}
	r.list = slices.DeleteFunc(r.list, func(f Fault) bool { return f.Calls < 0 })
	return e
}

// draw is a time from delay to delay + jitter milliseconds.
func draw(delay, jitter int64) time.Duration {
	d := time.Duration(delay) * time.Millisecond
	return d + rand.N(time.Duration(jitter)*time.Millisecond+1)
}

func (r *rules) add(f Fault) (Fault, *problem) {
	if p := f.validate(); p != nil {
		return f, p
	}
	f.Artists = slices.Clone(f.Artists)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) >= maxRules {
		return f, &problem{
			status: http.StatusConflict, name: "too-many-faults", title: "There are too many faults",
			detail: fmt.Sprintf("%d faults are in force: DELETE /_/faults clears them", maxRules),
		}
	}
	r.next++
	f.ID = r.next
	r.list = append(r.list, f)
	return f, nil
}

func (r *rules) all() []Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Fault{}, r.list...)
}

func (r *rules) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = nil
}

// counts returns how often each fault was given.
func (r *rules) counts() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.given)
}

func (r *rules) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.given = map[string]int64{}
}
