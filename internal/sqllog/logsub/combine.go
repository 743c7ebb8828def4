package logsub

import (
	"context"
	"sync"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/sqllog"
)

// A round holds at most this much, beyond its first request.
const (
	roundEntries = 1000
	roundBytes   = 4 << 20
)

// combiner lets concurrent callers share a transaction. Whoever comes first
// writes at once; those who come meanwhile wait, and the first of them then
// writes for all. A lone caller is never delayed.
type combiner struct {
	write    func(ctx context.Context, entries []sqllog.Entry) error
	classify fault.Classifier

	mu    sync.Mutex
	busy  bool
	queue []*request
}

type request struct {
	entries []sqllog.Entry
	bytes   int
	lead    chan struct{} // signalled: write the next round
	done    chan error    // the outcome
}

// submit returns when the entries are committed or have failed.
func (c *combiner) submit(entries []sqllog.Entry) error {
	r := &request{entries: entries, lead: make(chan struct{}, 1), done: make(chan error, 1)}
	for _, e := range entries {
		r.bytes += len(e.Payload) + len(e.Headers)
	}
	c.mu.Lock()
	c.queue = append(c.queue, r)
	if c.busy {
		c.mu.Unlock()
		select {
		case err := <-r.done:
			return err
		case <-r.lead:
		}
		c.mu.Lock()
	}
	c.busy = true
	round := c.take()
	c.mu.Unlock()
	c.commit(round)
	c.handOver()
	return <-r.done
}

func (c *combiner) handOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy = len(c.queue) > 0; c.busy {
		c.queue[0].lead <- struct{}{}
	}
}

// take removes the next round from the queue; its first request leads.
func (c *combiner) take() []*request {
	entries, bytes, n := 0, 0, 0
	for _, r := range c.queue {
		entries, bytes = entries+len(r.entries), bytes+r.bytes
		if n > 0 && (entries > roundEntries || bytes > roundBytes) {
			break
		}
		n++
	}
	round := c.queue[:n:n]
	c.queue = append([]*request(nil), c.queue[n:]...)
	return round
}

func (c *combiner) commit(round []*request) {
	ctx, cancel := context.WithTimeout(context.Background(), opTimeout)
	defer cancel()
	if len(round) == 1 {
		round[0].done <- c.write(ctx, round[0].entries)
		return
	}
	var all []sqllog.Entry
	for _, r := range round {
		all = append(all, r.entries...)
	}
	err := c.write(ctx, all)
	if err != nil && fault.Of(err, c.classifiers()...) == fault.Permanent {
		// One of them is at fault: let it fail alone.
		for _, r := range round {
			r.done <- c.write(ctx, r.entries)
		}
		return
	}
	for _, r := range round {
		r.done <- err
	}
}

func (c *combiner) classifiers() []fault.Classifier {
	if c.classify == nil {
		return nil
	}
	return []fault.Classifier{c.classify}
}
