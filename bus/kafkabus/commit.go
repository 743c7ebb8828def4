package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	busdriver "github.com/millrace-go/millrace/bus/driver"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// commitRegularly commits acknowledgements each CommitInterval, and starts when their first
// messages have arrived, until ctx is done.
func (s *source) commitRegularly(ctx context.Context) {
	tick := time.NewTicker(s.driver.set.CommitInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.started:
			s.countSoon(ctx)
			continue
		case <-ctx.Done():
			return
		}
		s.commits.Lock()
		err := s.commit(ctx, s.ours(), progress)
		s.commits.Unlock()
		if err != nil && ctx.Err() == nil {
			s.commitFailed(err, "acknowledgements could not be written; they are with the next ones, and after a crash their messages are delivered again")
		}
	}
}

func (s *source) ours() []*claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.claims)
}

// commit writes the commits of the claims. s.commits is held, so that an older commit
// cannot follow a newer one, nor cover a partition that another member has.
func (s *source) commit(ctx context.Context, claims []*claim, why reason) error {
	offsets, notes := map[int32]kgo.EpochOffset{}, map[int32]string{}
	s.mu.Lock()
	for _, c := range claims {
		if offset, note, ok := c.next(why); ok {
			offsets[c.partition], notes[c.partition] = kgo.EpochOffset{Epoch: -1, Offset: offset}, note
		}
	}
	s.mu.Unlock()
	if len(offsets) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ctx = kgo.PreCommitFnContext(ctx, func(r *kmsg.OffsetCommitRequest) error {
		// The request has its generation: if a claim is lost from here on, brokers refuse it.
		s.mu.Lock()
		defer s.mu.Unlock()
		if slices.ContainsFunc(claims, func(c *claim) bool { return c.over }) {
			return busdriver.ErrRevoked
		}
		for t := range r.Topics {
			for p := range r.Topics[t].Partitions {
				at := &r.Topics[t].Partitions[p]
				at.Metadata = new(notes[at.Partition])
			}
		}
		return nil
	})
	var failed error
	s.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{s.topic: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			if failed = err; err != nil {
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, t := range answer.Topics {
				for _, p := range t.Partitions {
					if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
						failed = fmt.Errorf("partition %d: %w", p.Partition, err)
					} else if c := s.claim(p.Partition); c != nil {
						c.written, c.wrote = offsets[p.Partition].Offset, notes[p.Partition]
					}
				}
			}
		})
	if why == leaving && isKerror(failed, kerr.OffsetMetadataTooLarge) {
		// Without notes, the messages before the gaps are not delivered again.
		failed = errors.Join(failed, s.commit(ctx, claims, progress))
	}
	return failed
}

// commitSoon is commit, retried while that can help.
func (s *source) commitSoon(ctx context.Context, claims []*claim, why reason) error {
	for attempt := 1; ; attempt++ {
		err := s.commit(ctx, claims, why)
		if !kerr.IsRetriable(err) || sharedOut(err) || kit.Sleep(ctx, again.Delay(attempt)) != nil {
			return err
		}
	}
}

// commitFailed logs a commit that is repeated, unless the failure is expected.
func (s *source) commitFailed(err error, what string) {
	if sharedOut(err) || errors.Is(err, context.DeadlineExceeded) { // the latter while members join, or without a broker
		return
	}
	s.log.Warn("kafkabus: "+what, slog.Any("error", err))
}

// sharedOut reports whether the partitions are being reassigned, or were without this member.
func sharedOut(err error) bool {
	return errors.Is(err, busdriver.ErrRevoked) ||
		isKerror(err, kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.RebalanceInProgress, kerr.FencedInstanceID, kerr.StaleMemberEpoch)
}

// leaveTimeout bounds how long leaving tries to commit.
const leaveTimeout = 5 * time.Second

// leave commits finished messages, also behind gaps, and leaves the group.
func (s *source) leave() error {
	ctx, cancel := context.WithTimeout(s.base, leaveTimeout)
	defer cancel()
	s.trouble.end()
	s.commits.Lock()
	claims := s.ours()
	err := s.commitSoon(ctx, claims, leaving)
	s.mu.Lock()
	for _, c := range claims {
		c.end()
	}
	s.claims = nil
	s.mu.Unlock()
	s.commits.Unlock()
	if sharedOut(err) {
		// Another member came or left at the same time, so the partitions are reassigned
		// already. Their next owner receives the messages acknowledged last again, as after
		// any rebalance.
		s.log.Info("kafkabus: the group was shared out anew while leaving; what was acknowledged last may be delivered again", slog.Any("error", err))
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("acknowledgements could not be written, so their messages are delivered again: %w", err)
	}
	s.client.LeaveGroupContext(ctx) //nolint:errcheck // without it the group waits SessionTimeout
	s.client.Close()
	return err
}

// refusedCommit reports whether the brokers will not accept a commit, now or later.
func refusedCommit(err error) bool {
	k, ok := errors.AsType[*kerr.Error](err)
	return ok && !k.Retriable && !sharedOut(err)
}
