package ops

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus"
)

// Run keeps the last answers of the transport, the outbox and the waiting rooms in memory until ctx
// ends: lags, dead letters and the backlog every Config.Every, an audit while the last one is asked
// for, and the rooms every second while reports are asked for. A request for these values never
// waits for a server.
func (o *Ops) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	parts.Go(func() { o.metrics.monitor.Run(ctx) }) //nolint:errcheck // returns nil
	parts.Go(func() { o.watchLetters(ctx) })
	parts.Go(func() { o.watchBooks(ctx) })
	if o.rooms != nil {
		parts.Go(func() { o.watchRooms(ctx) })
	}
	err := o.lags.Run(ctx)
	parts.Wait()
	return err
}

// The states of the lag.
const (
	lagFresh       = "known"
	lagStale       = "stale"       // the last answer is old: the transport does not answer
	lagUnknown     = "unknown"     // no answer yet
	lagUnsupported = "unsupported" // the transport can never tell
)

// lagReport states how reliable the lags are.
type lagReport struct {
	State      string   `json:"state"`
	AgeSeconds *float64 `json:"ageSeconds"` // of the last answer; null when there was none
	Error      string   `json:"error"`      // why the latest question had no answer
}

// known reports whether there are figures, old ones included.
func (l lagReport) known() bool { return l.State == lagFresh || l.State == lagStale }

func lagStateOf(s bus.LagSnapshot) lagReport {
	r := lagReport{State: lagFresh}
	switch {
	case errors.Is(s.Err, errors.ErrUnsupported):
		r.State = lagUnsupported
	case !s.Known:
		r.State = lagUnknown
	case s.Stale:
		r.State = lagStale
	}
	if s.Known {
		r.AgeSeconds = seconds(s.Age)
	}
	if s.Err != nil && r.State != lagUnsupported {
		r.Error = s.Err.Error()
	}
	return r
}

func seconds(d time.Duration) *float64 {
	s := max(0, d.Seconds())
	return &s
}

const (
	// watchedFor is how long after a report was asked for the rooms and the letters are looked at, and
	// not only counted.
	watchedFor = 30 * time.Second
	// lookFor bounds a look at the letters of one topic: a transport that shows
	// them only to a reader of the group takes 15 s to be sure of the last.
	lookFor = 20 * time.Second
	// lookAfter bounds the look after a change, for which a request waits.
	lookAfter = 5 * time.Second
	auditFor  = 15 * time.Second
	// firstAudit is how long a caller waits for the very first audit.
	firstAudit = time.Second
)

// watchLetters counts the dead letters.
func (o *Ops) watchLetters(ctx context.Context) {
	tick := time.NewTicker(o.cfg.Every)
	defer tick.Stop()
	o.awaitLags(ctx)
	for ctx.Err() == nil { // a look that fails is repeated by the next round
		o.lookAtLetters(ctx)
		select {
		case <-tick.C:
		case <-o.look:
		case <-ctx.Done():
		}
	}
}

// watched records that the letters and the rooms were asked for; the first call after a while
// starts a look at them.
func (o *Ops) watched() {
	if now := time.Now().UnixNano(); now-o.asked.Swap(now) > int64(watchedFor) {
		signal(o.look)
		if o.rooms != nil {
			signal(o.rooms.wake)
		}
	}
}

// isWatched reports whether a report was asked for lately.
func (o *Ops) isWatched() bool { return time.Now().UnixNano()-o.asked.Load() <= int64(watchedFor) }

// signal wakes the receiver; one unread signal is enough.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// awaitLags waits for the first lags that name all topics: they show which topics need no look, and
// a look asks for all lags again. A transport that knows only its own groups may never name them:
// awaitLags waits for two answers at most.
func (o *Ops) awaitLags(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	second := time.NewTimer(o.cfg.Every + time.Second)
	defer second.Stop()
	for s := o.lags.Snapshot(); s.Err == nil && !o.counted(s); s = o.lags.Snapshot() {
		select {
		case <-tick.C:
		case <-second.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// counted reports whether the lags include the number of letters of each topic.
func (o *Ops) counted(s bus.LagSnapshot) bool {
	return s.Known && !slices.ContainsFunc(o.topics, func(topic string) bool {
		_, known := buried(s.Lags, topic)
		return !known
	})
}

// lookAtLetters looks at each topic in turn.
func (o *Ops) lookAtLetters(ctx context.Context) {
	seen := o.lags.Snapshot()
	watched := o.isWatched()
	for _, topic := range o.topics {
		n, counted := buried(seen.Lags, topic)
		switch {
		case !counted || watched && n > 0:
			o.refresh(ctx, topic, lookFor)
		case n == 0:
			o.letters[topic].saw(listing{}, time.Now().Add(-seen.Age))
		}
	}
}

// refresh looks at the letters of a topic now. After a failure the last result stays: while another
// pass holds a queue that cannot be looked at meanwhile, or the transport does not answer.
func (o *Ops) refresh(ctx context.Context, topic string, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	if found, err := o.letters[topic].look(ctx); err == nil {
		o.letters[topic].saw(found, began)
	}
}

// books is the last audit, for callers that do not wait for one.
type books struct {
	wanted chan struct{} // the last one is asked for

	mu    sync.Mutex
	first chan struct{} // closed with the first outcome
	audit *Audit        // nil: none has worked
	at    time.Time
	err   error // why the latest did not work
}

func newBooks() *books {
	return &books{wanted: make(chan struct{}, 1), first: make(chan struct{})}
}

type recentAudit struct {
	Audit
	AgeSeconds *float64 `json:"ageSeconds"` // null when no audit has worked yet
	Error      string   `json:"error"`      // why the latest did not work
}

// watchBooks audits while audits are asked for, at most once in Every.
func (o *Ops) watchBooks(ctx context.Context) {
	for {
		select {
		case <-o.books.wanted:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, auditFor)
		a, err := o.AuditNow(limited)
		cancel()
		o.books.note(a, err)
		select {
		case <-time.After(o.cfg.Every):
		case <-ctx.Done():
			return
		}
	}
}

func (b *books) note(a Audit, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.audit == nil && b.err == nil {
		close(b.first)
	}
	if b.err = err; err == nil {
		b.audit, b.at = &a, time.Now()
	}
}

// RecentInvariants returns the last audit and its age, and starts the next one. It waits a moment
// for the first one alone, and never for the transport.
func (o *Ops) RecentInvariants(ctx context.Context) (any, error) {
	signal(o.books.wanted)
	wait, cancel := context.WithTimeout(ctx, firstAudit)
	defer cancel()
	select {
	case <-o.books.first:
	case <-wait.Done():
	}
	return o.books.last(), ctx.Err()
}

func (b *books) last() recentAudit {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := recentAudit{Audit: Audit{Checks: []Check{}}}
	if b.err != nil {
		r.Error = b.err.Error()
	}
	if b.audit != nil {
		r.Audit, r.AgeSeconds = *b.audit, seconds(time.Since(b.at))
	}
	return r
}
