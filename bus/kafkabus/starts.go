package kafkabus

import (
	"context"
	"log/slog"
	"time"

	busdriver "github.com/millrace-go/millrace/bus/driver"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

const (
	// carefulStarts is the start without progress from which messages are handled alone.
	carefulStarts = 3
	// mostCareful is the limit of messages that are handled alone.
	mostCareful = 256
)

// uncounted returns the claims whose first message has arrived, and whose start is not
// counted. s.mu is held.
func (s *source) uncounted() (claims []*claim) {
	for _, c := range s.claims {
		if !c.counted && !c.stopped && len(c.ahead) > 0 {
			claims = append(claims, c)
		}
	}
	return claims
}

// count counts starts in the commits of their partitions, before the first message is
// handed over: the death of an idle process is no evidence against later messages. It fails
// when counting must be retried.
func (s *source) count(ctx context.Context) error {
	s.commits.Lock()
	defer s.commits.Unlock()
	s.mu.Lock()
	claims := s.uncounted()
	for _, c := range claims {
		if c.base = c.written; c.base < 0 {
			c.base = c.ahead[0].Offset
		}
		c.counts = c.found
		c.counts.starts++
	}
	s.mu.Unlock()
	err := s.commit(ctx, claims, counting)
	if err != nil && !refusedCommit(err) {
		return err
	}
	if err != nil {
		s.log.Warn("kafkabus: starts of partitions cannot be counted, so a message that kills its process does so again and again; let the group commit offsets with metadata of 4,096 bytes",
			slog.Any("error", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range claims {
		c.counted = true
		if err != nil || c.counts.starts < carefulStarts && c.counts.times == 0 {
			continue
		}
		c.careful.Store(int64(min(s.window.Size(), mostCareful)))
		s.log.Warn("kafkabus: a partition was started again and again without progress; its messages are handled one alone at a time",
			slog.Int("partition", int(c.partition)), slog.Int("starts", c.counts.starts))
	}
	s.ready.Send()
	return nil
}

// countSoon counts starts, and retries while that fails.
func (s *source) countSoon(ctx context.Context) {
	for attempt := 1; ctx.Err() == nil; attempt++ {
		err := s.count(ctx)
		if err == nil {
			return
		}
		s.commitFailed(err, "starts of partitions could not be counted; their messages wait for another try")
		kit.Sleep(ctx, again.Delay(attempt)) //nolint:errcheck // the loop asks
	}
}

// Alone is that of [busdriver.Suspected].
func (f *flight) Alone() bool { return f.claim.careful.Load() > 0 }

// Begin is that of [busdriver.Suspected].
func (f *flight) Begin(ctx context.Context) (deaths int, err error) {
	if of := f.claim.found; of.alone == f.offset {
		deaths = of.times
	}
	return deaths, f.claim.note(ctx, f.offset, deaths+1)
}

// End is that of [busdriver.Suspected]. If the partition is lost, there is nothing to note.
func (f *flight) End(ctx context.Context) error {
	if err := f.claim.note(ctx, 0, 0); !sharedOut(err) {
		return err
	}
	return nil
}

// note commits that a message is being handled alone, and how often it was.
func (c *claim) note(ctx context.Context, alone int64, times int) error {
	s := c.source
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	s.commits.Lock()
	defer s.commits.Unlock()
	s.mu.Lock()
	over := c.over
	if !over {
		c.counts.alone, c.counts.times, c.working = alone, times, times > 0
	}
	s.mu.Unlock()
	if over {
		return busdriver.ErrRevoked
	}
	return wrap(s.commitSoon(ctx, []*claim{c}, counting), "note which message of partition %d is handled alone", c.partition)
}

// noteTimeout bounds how long a note of one message is tried.
const noteTimeout = 5 * time.Second

// take continues a claim from the commit of its partition. If that commit is the last one
// of a claim that this process has lost, the process has not died: neither the start nor
// the message at work counts. s.mu is held.
func (c *claim) take(at commit, n note) {
	c.written, c.wrote, c.done, c.found = at.offset, at.note, n.done, n.counts
	if old := c.source.lostClaims[c.partition]; old != nil && old.written == at.offset && old.wrote == at.note {
		c.found = old.found
	}
}
