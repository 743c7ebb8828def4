package natsbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
	"github.com/millrace-go/millrace/fault"
)

// directory is logdriver.Directory in NATS: topics are streams, and all else is in the bucket.
type directory struct {
	*link
	registry *registry
	replicas int
	declared sync.Map // replicas (int) of the topics for which Declare named a number
}

// The keys of a topic in its stream's metadata.
const (
	topicName       = "millrace_topic"
	topicPartitions = "millrace_partitions"
	topicRetention  = "millrace_retention"
)

// maxPartitions is the limit of a declared topic: each partition takes memory here.
const maxPartitions = 10_000

// maxStream is the longest name that JetStream accepts.
const maxStream = 255

// config is the stream of a topic.
func (d *directory) config(t logdriver.Topic) jetstream.StreamConfig {
	replicas := d.replicas
	if n, ok := d.declared.Load(t.Name); ok {
		replicas = n.(int)
	}
	return jetstream.StreamConfig{
		Name: d.stream(t.Name), Subjects: []string{d.subjects(t.Name)}, Description: "Millrace topic " + t.Name,
		Storage: jetstream.FileStorage, Replicas: replicas, AllowDirect: true, AllowBatchPublish: true,
		Metadata: map[string]string{
			topicName: t.Name, topicPartitions: strconv.Itoa(t.Partitions), topicRetention: t.Retention.String(),
		},
	}
}

// topicOf is the topic of a stream.
func (d *directory) topicOf(s jetstream.StreamInfo) (logdriver.Topic, error) {
	meta := s.Config.Metadata
	t := logdriver.Topic{Name: meta[topicName]}
	var err, err2 error
	t.Partitions, err = strconv.Atoi(meta[topicPartitions])
	t.Retention, err2 = time.ParseDuration(meta[topicRetention])
	if errors.Join(err, err2) != nil || t.Partitions < 1 || t.Partitions > maxPartitions || t.Retention < 0 ||
		d.stream(t.Name) != s.Config.Name || !s.Config.AllowBatchPublish || !s.Config.AllowDirect {
		return t, fault.MarkPermanent(fmt.Errorf("the stream %q is no topic of Millrace: its metadata or settings were changed; make it anew, or use another prefix", s.Config.Name))
	}
	return d.registry.number(t, s.Created), nil
}

// find is the stream of a topic.
func (d *directory) find(ctx context.Context, topic string) (jetstream.StreamInfo, error) {
	return d.info(ctx, d.stream(topic), "")
}

// make is find for a topic that this process knows: a lost stream is created again.
func (d *directory) make(ctx context.Context, topic string) (s jetstream.StreamInfo, err error) {
	s, err = d.find(ctx, topic)
	if known, _, ok := d.registry.topic(topic); ok && errors.Is(err, jetstream.ErrStreamNotFound) {
		if _, err := d.Ensure(ctx, known); err != nil {
			return s, err
		}
		s, err = d.find(ctx, topic)
	}
	return s, err
}

// Ensure implements logdriver.Directory.
func (d *directory) Ensure(ctx context.Context, want logdriver.Topic) (logdriver.Topic, error) {
	if n := len(d.stream(want.Name)); n > maxStream {
		return logdriver.Topic{}, fault.MarkPermanent(fmt.Errorf("its stream's name has %d characters and NATS takes %d; shorten the topic, or the prefix", n, maxStream))
	}
	s, err := d.find(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = d.do(ctx, func(ctx context.Context) error {
			_, err := d.js.CreateStream(ctx, d.config(want))
			return err
		})
		if err == nil || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // by another process
			s, err = d.find(ctx, want.Name)
		}
	}
	if err != nil {
		return logdriver.Topic{}, refused(err)
	}
	t, err := d.topicOf(s)
	if err != nil || want.Retention == 0 || want.Retention == t.Retention {
		return t, err
	}
	t.Retention, s.Config.Metadata[topicRetention] = want.Retention, want.Retention.String()
	err = d.do(ctx, func(ctx context.Context) error {
		_, err := d.js.UpdateStream(ctx, s.Config)
		return err
	})
	return d.registry.number(t, s.Created), refused(err)
}

// Topics implements logdriver.Directory.
func (d *directory) Topics(ctx context.Context) (out []logdriver.Topic, err error) {
	err = d.do(ctx, func(ctx context.Context) error {
		out = nil
		all := d.js.ListStreams(ctx, jetstream.WithStreamListSubject(string(d.names)+".>"))
		for s := range all.Info() {
			t, err := d.topicOf(*s)
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
	slices.SortFunc(out, func(a, b logdriver.Topic) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

// Groups implements logdriver.Directory.
func (d *directory) Groups(ctx context.Context, t logdriver.Topic) ([]string, error) {
	s, err := d.info(ctx, d.bucket(), d.stored("cursor."+token(t.Name)+".*.*"))
	if err != nil {
		return nil, err
	}
	on := make(map[string]int)
	for subject := range s.State.Subjects {
		group, err := untoken(subject[strings.LastIndexByte(subject, '.')+1:])
		if err != nil {
			return nil, fmt.Errorf("the key %s has no group: %w", subject, err)
		}
		on[group]++
	}
	maps.DeleteFunc(on, func(_ string, n int) bool { return n < t.Partitions })
	return slices.Sorted(maps.Keys(on)), nil
}

// member is a group's member in the bucket.
type member struct {
	ID     string        `json:"id"`
	Joined int64         `json:"joined,omitempty"` // the first revision of the key; 0 in that one
	TTL    time.Duration `json:"ttl"`              // in nanoseconds, since the key was written
}

// Beat implements logdriver.Directory.
func (d *directory) Beat(ctx context.Context, ttl time.Duration, members []logdriver.Member) error {
	calls := make([]func(context.Context) error, len(members))
	for i, m := range members {
		calls[i] = func(ctx context.Context) error {
			_, _, err := change(ctx, d.link, memberKey(m), func(have *member, was found) error {
				*have = member{ID: m.ID, Joined: cmp.Or(have.Joined, was.seq), TTL: ttl}
				return nil
			})
			return err
		}
	}
	err := atOnce(ctx, calls)
	if isGone(err) { // a server that has lost its disk
		if err = d.makeBucket(ctx, d.replicas); err == nil {
			err = atOnce(ctx, calls)
		}
	}
	return err
}

// Members implements logdriver.Directory. A member has died when another one has written
// its key after the first one's time was over, by the server's clock. Dead members are removed.
func (d *directory) Members(ctx context.Context, topic, group string) (ids []string, err error) {
	all, err := d.list(ctx, "member."+token(topic)+"."+token(group)+".*")
	if err != nil || len(all) == 0 {
		return nil, err
	}
	newest := slices.MaxFunc(all, func(a, b found) int { return a.at.Compare(b.at) }).at
	joined := make(map[string]int64)
	for _, f := range all {
		m, err := decode[member](f)
		switch {
		case err != nil:
			return nil, err
		case newest.Before(f.at.Add(m.TTL)):
			ids = append(ids, m.ID)
			joined[m.ID] = cmp.Or(m.Joined, f.seq)
		default:
			if _, err := d.purge(ctx, d.bucket(), f.Header.Get("Nats-Subject"), f.seq+1); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(joined[a], joined[b]) })
	return ids, nil
}

// Leave implements logdriver.Directory.
func (d *directory) Leave(ctx context.Context, m logdriver.Member) error {
	_, err := d.purge(ctx, d.bucket(), d.stored(memberKey(m)), 0)
	return err
}

// setStarts changes the traces of crashes and orderly stops of a cursor.
func (d *directory) setStarts(ctx context.Context, c logdriver.Cursor, set func(*logdriver.Start)) (logdriver.Start, error) {
	value, _, err := change(ctx, d.link, startsKey(d.registry.partition(c.Lane), c.Consumer), func(have *logdriver.Start, _ found) error {
		set(have)
		return nil
	})
	return value, err
}

// Started implements logdriver.Directory.
func (d *directory) Started(ctx context.Context, cursors []logdriver.Cursor) (all []logdriver.Start, err error) {
	for _, c := range cursors {
		s, err := d.setStarts(ctx, c, func(s *logdriver.Start) { s.Starts++ })
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Alone implements logdriver.Directory.
func (d *directory) Alone(ctx context.Context, c logdriver.Cursor, message string, times int) error {
	_, err := d.setStarts(ctx, c, func(s *logdriver.Start) { s.Message, s.Times = message, times })
	return err
}

// Progress implements logdriver.Directory.
func (d *directory) Progress(ctx context.Context, cursors []logdriver.Cursor) error {
	for _, c := range cursors {
		if err := d.Stopped(ctx, c, ""); err != nil {
			return err
		}
	}
	return nil
}

// Stopped implements logdriver.Directory.
func (d *directory) Stopped(ctx context.Context, c logdriver.Cursor, done string) error {
	_, err := d.setStarts(ctx, c, func(s *logdriver.Start) { s.Starts, s.Done = 0, done })
	return err
}

// isGone reports whether the stream that was written to does not exist.
func isGone(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound)
}
