package mirrorrun

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
)

const (
	// settleWithin bounds the wait for rest.
	settleWithin = 3 * time.Minute
	// followers is how many artists at a time are followed until they are fresh.
	followers = 16
	// restRate is how many reads a second are timed at rest.
	restRate = 100
)

// result has the measurements of a run.
type result struct {
	elapsed       time.Duration
	before, after upstream.Stats // the load
	served        upstream.Stats // when all its calls were served or failed
	last          upstream.Stats // after all phases
	office        figures        // at the end of the load
	began         figures
	cpuUpstream   time.Duration
	cpuOffice     time.Duration
	cpuKnown      bool
	cores         int
	load          *readers
	phases        []phase
}

// phase of reads that were timed.
type phase struct {
	name  string
	reads *readers // nil when it does not apply
	why   string
}

// measure plays the whole run.
func measure(ctx context.Context, c settings, o *office, say func(format string, args ...any)) (*result, error) {
	r := &result{cores: runtime.GOMAXPROCS(0)}
	say("The mirror works at its budget for %d s …\n", c.seconds)
	if err := r.underLoad(ctx, c, o); err != nil {
		return r, err
	}
	var err error
	if r.served, err = witness(ctx, o.http, o.witness); err != nil {
		return r, err
	}
	if err := o.demand.rest(ctx); err != nil {
		return r, err
	}
	keeping, stop := context.WithCancel(ctx)
	aged := make(chan struct{})
	go func() { defer close(aged); o.demand.keep(keeping, false) }()
	defer func() { stop(); <-aged }()
	for _, p := range []struct {
		name       string
		begin, end func()
		why        string
	}{
		{"at rest", func() {}, func() {}, ""},
		{"broker 1 s slow", func() { o.broker.by.Store(int64(time.Second)) }, func() { o.broker.by.Store(0) }, ""},
		{"Redis away", func() { o.redis.set(true) }, func() { o.redis.set(false) }, noRedis(o)},
	} {
		if p.why != "" {
			r.phases = append(r.phases, phase{name: p.name, why: p.why})
			continue
		}
		say("Reads, %s: waiting until the mirror is at rest …\n", p.name)
		if err := o.settle(ctx, c.calm); err != nil {
			return r, err
		}
		p.begin()
		reads := newReaders(o.url, o.demand.high)
		reads.run(ctx, restRate, time.Duration(c.rest)*time.Second, 0)
		p.end()
		reads.close()
		r.phases = append(r.phases, phase{name: p.name, reads: reads})
	}
	if err := o.settle(ctx, c.calm); err != nil { // the calls after an outage count too
		return r, err
	}
	r.last, err = witness(ctx, o.http, o.witness)
	return r, err
}

func noRedis(o *office) string {
	if o.redis == nil {
		return "n/a: what Redis keeps is in the office's own process"
	}
	return ""
}

// underLoad makes reads and prefetch ask for more than the budget.
func (r *result) underLoad(ctx context.Context, c settings, o *office) error {
	keeping, stop := context.WithCancel(ctx)
	aged := make(chan struct{})
	go func() { defer close(aged); o.demand.keep(keeping, true) }()
	defer func() { stop(); <-aged }()
	warm := newReaders(o.url, o.demand.high)
	warm.run(ctx, c.high, c.ramp, 0)
	warm.close()
	if err := o.underWay(ctx); err != nil {
		return err
	}

	r.load = newReaders(o.url, o.demand.high)
	defer r.load.close()
	began := time.Now()
	var err error
	if r.before, err = witness(ctx, o.http, o.witness); err != nil {
		return err
	}
	if r.began, err = scrape(ctx, o.http, o.url); err != nil {
		return err
	}
	upstreamCPU, _ := launch.CPU(o.upstream.PID(), false)
	officeCPU, unknown := launch.CPU(os.Getpid(), false)

	reading, done := make(chan struct{}), time.NewTimer(time.Duration(c.seconds)*time.Second)
	defer done.Stop()
	go func() {
		defer close(reading)
		r.load.run(ctx, c.high, time.Duration(c.seconds)*time.Second, followers)
	}()
	defer func() { <-reading }() // readers that wait for their artist to turn fresh
	select {
	case <-done.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	r.elapsed = time.Since(began)
	if r.after, err = witness(ctx, o.http, o.witness); err != nil {
		return err
	}
	r.office, err = scrape(ctx, o.http, o.url)
	upstreamNow, _ := launch.CPU(o.upstream.PID(), false)
	officeNow, _ := launch.CPU(os.Getpid(), false)
	r.cpuUpstream, r.cpuOffice, r.cpuKnown = upstreamNow-upstreamCPU, officeNow-officeCPU, unknown == nil
	return err
}

// underWay waits until workers of both priorities call the upstream: on a slow disk
// the distribution of the partitions takes time.
func (o *office) underWay(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := witness(ctx, o.http, o.witness)
		if err != nil {
			return err
		}
		if s.Classes["high"].Calls > 0 && s.Classes["low"].Calls > 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the workers have not begun: %d calls with high and %d with low priority", s.Classes["high"].Calls, s.Classes["low"].Calls)
		}
	}
}

// settle waits until the upstream was not called for a while.
func (o *office) settle(ctx context.Context, calm time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	calls, since := int64(-1), time.Now()
	for time.Since(since) < calm {
		s, err := witness(ctx, o.http, o.witness)
		if err != nil {
			return err
		}
		if s.Calls != calls {
			calls, since = s.Calls, time.Now()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the mirror did not come to rest: %w", ctx.Err())
		}
	}
	return nil
}
