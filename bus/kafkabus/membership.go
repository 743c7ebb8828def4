package kafkabus

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	busdriver "github.com/millrace-go/millrace/bus/driver"
)

// membership are the options of a member of a group.
func (s *source) membership(group, instance string) []kgo.Opt {
	set := s.driver.set
	all := []kgo.Opt{
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(s.topic),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.SessionTimeout(set.SessionTimeout),
		kgo.HeartbeatInterval(min(time.Second, set.SessionTimeout/3)),
		kgo.RebalanceTimeout(set.HandOverTimeout + 15*time.Second),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(s.assigned),
		kgo.OnOffsetsFetched(s.found),
		kgo.OnPartitionsRevoked(s.revoked),
		kgo.OnPartitionsLost(s.lost),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), // others may publish in transactions, and abort them
		kgo.FetchMaxWait(250 * time.Millisecond),
		kgo.WithHooks(&s.trouble),
	}
	if set.brokerside {
		// The client requires the first balancer for this. The second is the one that
		// members share on brokers that cannot assign partitions.
		all = append(all, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer(), kgo.CooperativeStickyBalancer()))
	}
	all = append(all, new(fetchSize).options()...)
	if instance != "" {
		all = append(all, kgo.InstanceID(instance))
	}
	return all
}

// assigned is called before records of the partitions are fetched.
func (s *source) assigned(_ context.Context, _ *kgo.Client, added map[string][]int32) {
	s.trouble.over(ofGroup)
	s.polling.between(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range added[s.topic] {
			s.claims = append(s.claims, newClaim(s, p))
		}
		// A pause outlives the assignment in which it was set.
		s.client.ResumeFetchPartitions(map[string][]int32{s.topic: added[s.topic]})
		s.feed()
	})
}

// found is called when the group's offsets were read. It takes over the messages that an
// earlier owner finished behind these offsets.
func (s *source) found(_ context.Context, _ *kgo.Client, answer *kmsg.OffsetFetchResponse) error {
	note := func(topic string, partition int32, offset int64, metadata *string) {
		if topic != "" && topic != s.topic || metadata == nil {
			return
		}
		at := commit{offset: offset, note: *metadata}
		n, err := noteIn(at)
		if err != nil {
			s.log.Warn("kafkabus: what was done behind a committed offset cannot be read; it is delivered again",
				slog.Int("partition", int(partition)), slog.Any("error", err))
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if c := s.claim(partition); c != nil {
			c.take(at, n)
		}
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			note(t.Topic, p.Partition, p.Offset, p.Metadata)
		}
	}
	for _, g := range answer.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				note(t.Topic, p.Partition, p.Offset, p.Metadata)
			}
		}
	}
	return nil
}

// revoked hands partitions over to other members: it waits for their messages in flight,
// for HandOverTimeout at most, and commits.
func (s *source) revoked(ctx context.Context, _ *kgo.Client, gone map[string][]int32) {
	claims := s.stop(gone[s.topic])
	if len(claims) == 0 {
		return
	}
	bounded, cancel := context.WithTimeout(s.life, s.driver.set.HandOverTimeout)
	defer cancel()
	for _, c := range claims {
		select {
		case <-c.idle:
		case <-bounded.Done():
		}
	}
	s.commits.Lock()
	defer s.commits.Unlock()
	if err := s.commit(ctx, claims, leaving); err != nil {
		s.commitFailed(err, "acknowledgements of partitions that are let go could not be written; their messages are delivered again")
	}
	s.drop(claims, true)
}

// lost ends partitions that another member already has.
func (s *source) lost(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	s.drop(s.stop(gone[s.topic]), false)
}

// stop ends handing over from the partitions, and returns their claims.
func (s *source) stop(partitions []int32) (claims []*claim) {
	s.polling.between(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range partitions {
			if c := s.claim(p); c != nil {
				c.stop()
				claims = append(claims, c)
			}
		}
	})
	return claims
}

// drop forgets claims, and ends the contexts of their messages in flight.
func (s *source) drop(claims []*claim, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims = slices.DeleteFunc(s.claims, func(c *claim) bool { return slices.Contains(claims, c) })
	for _, c := range claims {
		if n := c.end(); n > 0 && told {
			s.log.Warn("kafkabus: a partition was let go with unacknowledged messages; another instance gets them, too",
				slog.Int("partition", int(c.partition)), slog.Int("messages", n))
		}
		if !told {
			s.lostClaims[c.partition] = c
		}
		c.revoke(busdriver.ErrRevoked)
	}
	s.feed()
	s.ready.Send()
}
