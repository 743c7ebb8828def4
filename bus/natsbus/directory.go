package natsbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/bus/driver/logdriver"
	"github.com/millrace-go/millrace/fault"
)

// The keys of a topic in its stream's metadata.
const (
	topicName       = "millrace_topic"
	topicPartitions = "millrace_partitions"
	topicRetention  = "millrace_retention"
)

// maxStream is the longest name that JetStream accepts.
const maxStream = 255

// topicOf is the topic of a stream.
func (s *store) topicOf(info *jetstream.StreamInfo) (logdriver.Topic, error) {
	c := info.Config
	t := logdriver.Topic{Name: c.Metadata[topicName], Replication: c.Replicas}
	var err, err2 error
	t.Partitions, err = strconv.Atoi(c.Metadata[topicPartitions])
	t.Retention, err2 = time.ParseDuration(c.Metadata[topicRetention])
	if errors.Join(err, err2) != nil || t.Partitions < 1 || t.Partitions > logdriver.MaxPartitions || t.Retention < 0 ||
		s.stream(t.Name) != c.Name || !c.AllowBatchPublish || !c.AllowDirect {
		return t, fault.MarkPermanent(fmt.Errorf("the stream %q is no topic of Millrace: its metadata or settings were changed; create it again, or use another prefix", c.Name))
	}
	s.created.Store(t.Name, info.Created)
	return s.lanes.Number(t), nil
}

// made is the stream of a topic. It creates a stream that does not exist, or that was lost.
func (s *store) made(ctx context.Context, want logdriver.Topic) (*jetstream.StreamInfo, error) {
	info, err := s.info(ctx, s.stream(want.Name))
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return info, err
	}
	err = s.create(ctx, jetstream.StreamConfig{
		Name: s.stream(want.Name), Subjects: []string{s.subject(want.Name, "*")}, Description: "Millrace topic " + want.Name,
		Storage: jetstream.FileStorage, Replicas: cmp.Or(want.Replication, s.replicas), AllowDirect: true, AllowBatchPublish: true,
		Metadata: map[string]string{
			topicName: want.Name, topicPartitions: strconv.Itoa(want.Partitions), topicRetention: want.Retention.String(),
		},
	})
	if err != nil {
		return nil, err
	}
	return s.info(ctx, s.stream(want.Name))
}

func (s *store) Ensure(ctx context.Context, want logdriver.Topic) (logdriver.Topic, error) {
	if n := len(s.stream(want.Name)); n > maxStream {
		return want, fault.MarkPermanent(fmt.Errorf("its stream's name has %d characters and NATS takes %d; shorten the topic, or the prefix", n, maxStream))
	}
	info, err := s.made(ctx, want)
	if err != nil {
		return want, err
	}
	t, err := s.topicOf(info)
	if err != nil || want.Retention == 0 || want.Retention == t.Retention {
		return t, err
	}
	info.Config.Metadata[topicRetention] = want.Retention.String()
	err = s.do(ctx, func(ctx context.Context) error {
		_, err := s.js.UpdateStream(ctx, info.Config)
		return err
	})
	if err != nil {
		return t, err
	}
	return s.topicOf(info)
}

func (s *store) Topics(ctx context.Context) (out []logdriver.Topic, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		all := s.js.ListStreams(ctx, jetstream.WithStreamListSubject(string(s.names)+".>"))
		for info := range all.Info() {
			t, err := s.topicOf(info)
			if err != nil {
				return err
			}
			out = append(out, t)
		}
		if errors.Is(all.Err(), jetstream.ErrEndOfData) {
			return nil
		}
		return all.Err()
	})
	return out, err
}

func (s *store) Groups(ctx context.Context, t logdriver.Topic) ([]string, error) {
	info, err := s.info(ctx, s.bucket(), jetstream.WithSubjectFilter(s.cursor(t.Name, "*", "*")))
	if err != nil {
		return nil, err
	}
	on := make(map[string]int)
	for subject := range info.State.Subjects {
		group, err := untoken(subject)
		if err != nil {
			return nil, fmt.Errorf("the key %s has no group: %w", subject, err)
		}
		on[group]++
	}
	return t.OnEvery(on), nil
}

// member is a group's member in the bucket.
type member struct {
	Joined int64         `json:"joined,omitempty"` // the first revision of the key; 0 in that one
	TTL    time.Duration `json:"ttl"`              // in nanoseconds, since the key was written
}

func (s *store) Beat(ctx context.Context, ttl time.Duration, members []logdriver.Member) error {
	for again := true; ; again = false {
		err := kit.Each(members, func(m logdriver.Member) error {
			_, err := change(ctx, s, s.member(m.Topic, m.Group, token(m.ID)), kept[member]{}, func(k *kept[member]) error {
				k.value = member{Joined: cmp.Or(k.value.Joined, k.seq), TTL: ttl}
				return nil
			})
			return err
		})
		if !again || !isGone(err) {
			return err
		}
		if err := s.makeBucket(ctx); err != nil { // a server has lost its disk
			return err
		}
	}
}

// Members implements logdriver.Directory. The time of the server decides which members have
// died; their keys are removed.
func (s *store) Members(ctx context.Context, topic, group string) (ids []string, err error) {
	all, err := list[member](ctx, s, s.member(topic, group, "*"), mostRead)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	info, err := s.info(ctx, s.bucket())
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b kept[member]) int {
		return cmp.Compare(cmp.Or(a.value.Joined, a.seq), cmp.Or(b.value.Joined, b.seq))
	})
	for _, m := range all {
		if !info.TimeStamp.Before(m.at.Add(m.value.TTL)) {
			_, err = s.purge(ctx, s.bucket(), m.subject(), m.seq+1)
		} else if id, wrong := untoken(m.subject()); wrong == nil {
			ids = append(ids, id)
		}
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (s *store) Leave(ctx context.Context, m logdriver.Member) error {
	_, err := s.purge(ctx, s.bucket(), s.member(m.Topic, m.Group, token(m.ID)), 0)
	return err
}
