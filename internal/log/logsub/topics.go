package logsub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
)

// MaxPartitions is the most partitions of a topic: each takes memory in every process.
const MaxPartitions = 10_000

const maxName = 255

// ErrPartitions is returned by Declare for a topic that exists with another number of
// partitions: its keys are already distributed over them.
var ErrPartitions = errors.New("logsub: a topic's partitions cannot be changed")

// topics finds the lanes of topics, and caches them: a topic's lanes never change.
type topics struct {
	b   Backend
	cfg Config

	mu    sync.Mutex
	known map[string]Topic
}

// get returns the topic, and makes it if it does not exist.
func (t *topics) get(ctx context.Context, name string) (Topic, error) {
	t.mu.Lock()
	topic, ok := t.known[name]
	t.mu.Unlock()
	if ok {
		return topic, nil
	}
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	return t.ensure(ctx, Topic{Name: name, Partitions: t.cfg.Partitions})
}

func (t *topics) ensure(ctx context.Context, want Topic) (Topic, error) {
	if err := checkName("topic", want.Name); err != nil {
		return Topic{}, err
	}
	topic, err := t.b.Directory.Ensure(ctx, want)
	if err != nil {
		return Topic{}, fmt.Errorf("logsub: topic %s: %w", want.Name, err)
	}
	// Inside a transaction, a rollback may remove the topic again.
	if t.b.TopicsStay || !t.b.joins(ctx) {
		t.mu.Lock()
		t.known[topic.Name] = topic
		t.mu.Unlock()
	}
	return topic, nil
}

// group makes the group's cursors, so that no message is pruned before the group has read it.
func (t *topics) group(ctx context.Context, topic Topic, group string) error {
	if err := checkName("group", group); err != nil {
		return err
	}
	groups, err := t.b.Directory.Groups(ctx, topic)
	if err != nil {
		return fmt.Errorf("logsub: groups of %s: %w", topic.Name, err)
	}
	if slices.Contains(groups, group) {
		return nil
	}
	return t.b.leasing(ctx, func(ctx context.Context) error {
		for i := range topic.Partitions {
			// A lease of length 0 makes the cursor and expires at once.
			c := log.Cursor{Consumer: group, Lane: topic.FirstLane + i}
			if _, err := t.b.Log.Lease(ctx, c, "declare", 0); err != nil && !errors.Is(err, log.ErrLeaseHeld) {
				return fmt.Errorf("logsub: declare group %s of %s: %w", group, topic.Name, err)
			}
		}
		return nil
	})
}

// Declare makes a topic and its groups. It is idempotent. A number of partitions other than the
// topic's is ErrPartitions; another retention replaces the present one. The number is that of
// the Config for a new topic that is declared without one.
func (h *Hub) Declare(ctx context.Context, spec bus.Topic) error {
	switch {
	case spec.Partitions < 0 || spec.Partitions > MaxPartitions:
		return fault.MarkPermanent(fmt.Errorf("logsub: declare %s: %d partitions; give 1 to %d, or 0 for the default", spec.Name, spec.Partitions, MaxPartitions))
	case spec.Retention < 0:
		return fault.MarkPermanent(fmt.Errorf("logsub: declare %s: the retention is negative", spec.Name))
	}
	want := Topic{Name: spec.Name, Partitions: spec.Partitions, Retention: spec.Retention, Replication: spec.Replication}
	if want.Partitions == 0 {
		want.Partitions = h.cfg.Partitions
	}
	topic, err := h.topics.ensure(ctx, want)
	if err != nil {
		return err
	}
	if spec.Partitions != 0 && spec.Partitions != topic.Partitions {
		return fault.MarkPermanent(fmt.Errorf("%w: %s has %d, not %d; use its number, or another topic",
			ErrPartitions, topic.Name, topic.Partitions, spec.Partitions))
	}
	for _, group := range spec.Groups {
		if err := h.topics.group(ctx, topic, group); err != nil {
			return err
		}
	}
	return nil
}

// lagLimit bounds how far the backlog of a partition is counted.
const lagLimit = 10_000

// Lag returns the lag of every group on the given topics, or on all.
func (h *Hub) Lag(ctx context.Context, of ...string) ([]bus.Lag, error) {
	all, err := h.b.Directory.Topics(ctx)
	if err != nil {
		return nil, fmt.Errorf("logsub: lag: %w", err)
	}
	slices.SortFunc(all, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	var out []bus.Lag
	for _, topic := range all {
		if len(of) > 0 && !slices.Contains(of, topic.Name) {
			continue
		}
		groups, err := h.b.Directory.Groups(ctx, topic)
		if err != nil {
			return nil, fmt.Errorf("logsub: lag of %s: %w", topic.Name, err)
		}
		for _, group := range groups {
			n, oldest, err := h.b.Log.Backlog(ctx, log.Cursor{Consumer: group, Lane: topic.FirstLane}, topic.Partitions, lagLimit)
			if err != nil {
				return nil, fmt.Errorf("logsub: lag of %s: %w", topic.Name, err)
			}
			out = append(out, bus.Lag{Topic: topic.Name, Group: group, Messages: n, Oldest: oldest})
		}
	}
	return out, nil
}

// Topics lists the names of all topics, in order.
func (h *Hub) Topics(ctx context.Context) ([]string, error) {
	all, err := h.b.Directory.Topics(ctx)
	if err != nil {
		return nil, fmt.Errorf("logsub: topics: %w", err)
	}
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	slices.Sort(names)
	return names, nil
}

// Topic returns the topic without making it; ok reports whether it exists.
func (h *Hub) Topic(ctx context.Context, name string) (topic Topic, ok bool, err error) {
	all, err := h.b.Directory.Topics(ctx)
	if err != nil {
		return Topic{}, false, fmt.Errorf("logsub: topics: %w", err)
	}
	for _, t := range all {
		if t.Name == name {
			return t, true, nil
		}
	}
	return Topic{}, false, nil
}

func checkName(what, name string) error {
	// MySQL ignores trailing spaces when it compares text.
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.HasSuffix(name, " ") {
		return fault.MarkPermanent(fmt.Errorf("logsub: the %s %.40q is no name; give 1 to %d bytes of UTF-8 with no space at the end", what, name, maxName))
	}
	return nil
}
