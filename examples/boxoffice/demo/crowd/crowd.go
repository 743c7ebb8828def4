package crowd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Config of a [Crowd]. URL is required, the rest may stay zero.
type Config struct {
	// URL of the box office, without a slash at the end.
	URL string
	// Others are more processes of the same box office; requests take turns.
	Others []string
	// Fans is the number of fans; with 0 they keep coming until [Crowd.LastCall].
	Fans int
	// Concurrency is how many fans act at a time. Default 256, and never more than Fans.
	// Each costs up to three connections and goroutines: for its plan, for its share,
	// and for a live stream.
	Concurrency int
	// Seed makes plans, choices and payment keys the same in every run. The interaction
	// of fans still depends on timing.
	Seed uint64
	// Run distinguishes the members and payment keys of several crowds on one box
	// office. Default "0".
	Run string
	// Plans are the plans of fans, in turn; the usual mix when empty.
	Plans []Plan
	// Think is the longest pause of a fan between two steps. Default 200 ms;
	// negative for none.
	Think time.Duration
	// Patience is how long a fan repeats a request that gets no answer, and
	// waits for an outcome. Default 60 s.
	Patience time.Duration
	// Churn makes most fans give their tickets back, so that a long run never
	// sells out.
	Churn bool
	// Membership is the price of a membership in won. Default 30,000.
	Membership int64
}

func (c Config) validate() error {
	switch {
	case c.URL == "":
		return errors.New("crowd: URL is empty: name the box office")
	case c.Fans < 0:
		return fmt.Errorf("crowd: Fans is %d: use 1 or more, or 0 for a crowd without end", c.Fans)
	case c.Concurrency < 0:
		return fmt.Errorf("crowd: Concurrency is %d: use 1 or more, or 0 for 256", c.Concurrency)
	case c.Patience < 0:
		return fmt.Errorf("crowd: Patience is %v: use a positive duration, or 0 for 60s", c.Patience)
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.Concurrency = cmp.Or(c.Concurrency, 256)
	if c.Fans > 0 {
		c.Concurrency = min(c.Concurrency, c.Fans)
	}
	c.Run = cmp.Or(c.Run, "0")
	c.Think = cmp.Or(c.Think, 200*time.Millisecond)
	c.Patience = cmp.Or(c.Patience, 60*time.Second)
	c.Membership = cmp.Or(c.Membership, 30_000)
	return c
}

// maxViolations bounds the list of [Crowd.Violations]; more are only counted.
const maxViolations = 20

// Crowd sends fans through a box office.
type Crowd struct {
	cfg    Config
	client *Client
	meter  *Meter
	rooms  rooms
	alerts alerts

	last     chan struct{}
	lastOnce sync.Once

	mu         sync.Mutex
	records    []*Record
	active     int
	ends       map[End]int
	violations []string
	violated   int
}

// New makes a crowd; its fans start with [Crowd.Run].
func New(cfg Config) (*Crowd, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	meter := newMeter()
	return &Crowd{
		cfg: cfg, meter: meter, last: make(chan struct{}), ends: map[End]int{},
		client: &Client{URL: cfg.URL, Others: cfg.Others, HTTP: NewHTTP(3 * cfg.Concurrency), Patience: cfg.Patience, Meter: meter},
	}, nil
}

// Run starts the fans, at most Concurrency at a time, and returns when the last one
// has finished. When ctx ends, fans stop at their next step, and Run returns the
// context's error.
func (c *Crowd) Run(ctx context.Context) error {
	defer c.client.HTTP.CloseIdleConnections()
	places := make(chan struct{}, c.cfg.Concurrency)
	var fans sync.WaitGroup
	defer fans.Wait()
	for i := 0; c.cfg.Fans == 0 || i < c.cfg.Fans; i++ {
		select {
		case <-ctx.Done():
		case <-c.last:
		case places <- struct{}{}:
		}
		// A place may have been free at the moment of the last call.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.last:
			return nil
		default:
		}
		fans.Go(func() {
			defer func() { <-places }()
			c.visit(ctx, i)
		})
	}
	fans.Wait()
	return ctx.Err()
}

// LastCall starts no more fans. The active ones finish their visits.
func (c *Crowd) LastCall() { c.lastOnce.Do(func() { close(c.last) }) }

func (c *Crowd) plan(i int) Plan {
	if n := len(c.cfg.Plans); n > 0 {
		return c.cfg.Plans[i%n]
	}
	return planOf(c.cfg.Seed, i)
}

// member is the name of a fan.
func (c *Crowd) member(i int) string { return fmt.Sprintf("fan-%s-%d", c.cfg.Run, i) }

func (c *Crowd) visit(ctx context.Context, i int) {
	rec := &Record{Member: c.member(i), Plan: c.plan(i)}
	c.mu.Lock()
	c.active++
	c.records = append(c.records, rec)
	c.mu.Unlock()

	f := newFan(&visitor{crowd: c, client: c.client, rec: rec, chance: chance(c.cfg.Seed, i), entry: map[string]string{}, inside: map[string]bool{}}, i)
	end, err := f.visit(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		end = EndStopped
	case err != nil:
		end, rec.Err = EndGaveUp, err.Error()
		c.violate("%s (%s) gave up: %v", rec.Member, rec.Plan, err)
	}
	rec.End = end

	c.mu.Lock()
	c.active--
	c.ends[end]++
	c.mu.Unlock()
}

// violate records an observation that a correct box office never causes.
func (c *Crowd) violate(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.violated++
	if len(c.violations) < maxViolations {
		c.violations = append(c.violations, fmt.Sprintf(format, args...))
	}
}

// Violations returns observations that a correct box office never causes: the first
// 20, and their number.
func (c *Crowd) Violations() ([]string, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.violations...), c.violated
}

// Records returns the answers to every fan. Call it after Run.
func (c *Crowd) Records() []*Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*Record(nil), c.records...)
}

// Meter returns the crowd's measurements.
func (c *Crowd) Meter() *Meter { return c.meter }

// Progress is a crowd at one moment.
type Progress struct {
	Fans   int // 0 for a crowd without end
	Active int
	Done   int
	Ends   map[End]int

	Requests, Lost, Busy, Conflicts, PaidTwice, Violations int
	// Comments written, chat messages accepted, live notifications received, and live
	// streams that reconnected.
	Comments, Messages, Notices, Reopened int
}

// Progress reports how far the crowd is.
func (c *Crowd) Progress() Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := Progress{
		Fans: c.cfg.Fans, Active: c.active, Ends: make(map[End]int, len(c.ends)), Violations: c.violated,
		Requests: c.meter.Requests(), Lost: c.meter.Counter(countLost), Busy: c.meter.Counter(countBusy),
		Conflicts: c.meter.Counter(countConflict), PaidTwice: c.meter.Counter(countTwice),
		Comments: c.meter.Counter(countComment), Messages: c.meter.Counter(countMessage),
		Notices: c.meter.Counter(countNotice), Reopened: c.meter.Counter(countReopened),
	}
	for end, n := range c.ends {
		p.Ends[end] = n
		p.Done += n
	}
	return p
}
