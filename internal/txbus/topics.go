package txbus

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/sqlrows"
)

const (
	// MaxTopic is the longest name of a topic: with a prefix it is a table's name, which may
	// have 63 bytes on PostgreSQL and 64 on MySQL.
	MaxTopic = 52
	maxGroup = 255
	lagLimit = 10_000
)

// topicName matches the names that Watermill SQL accepts.
var topicName = regexp.MustCompile(`^[A-Za-z0-9\-$:._]+$`)

// offsets begins the rest of the name of Watermill SQL's own tables of offsets.
const offsets = "offsets_"

func checkTopic(topic string) error {
	switch {
	case len(topic) > MaxTopic || !topicName.MatchString(topic):
		return fault.MarkPermanent(fmt.Errorf("the topic %.60q is part of a table's name in mode=tx; give 1 to %d of A-Z a-z 0-9 - $ : . _", topic, MaxTopic))
	case strings.HasPrefix(topic, offsets):
		return fault.MarkPermanent(fmt.Errorf("the topic %s would have the table of another topic's offsets in mode=tx; give it another name", topic))
	}
	return nil
}

func checkGroup(group string) error {
	if group == "" || len(group) > maxGroup || !utf8.ValidString(group) {
		return fault.MarkPermanent(fmt.Errorf("the group %.40q is no name; give 1 to %d bytes of UTF-8", group, maxGroup))
	}
	return nil
}

// MessagesTable is Watermill SQL's own name for the table of a topic.
func MessagesTable(topic string) string { return "watermill_" + topic }

// OffsetsTable is the name of the table of a topic's offsets. It differs from Watermill SQL's
// own, because the acknowledged values are positions.
func OffsetsTable(topic string) string { return "wm_" + offsets + topic }

// prepare makes the topic's tables, outside a transaction of ctx: on MySQL that would commit it.
func (d *Driver) prepare(ctx context.Context, topic string) error {
	if err := checkTopic(topic); err != nil {
		return err
	}
	if _, made := d.made.Load(topic); made {
		return nil
	}
	if _, err := d.checked.Get(ctx); err != nil {
		return err
	}
	if err := d.Dialect.Prepare(ctx, d.DB, topic); err != nil {
		return fmt.Errorf("make topic %s: %w", topic, err)
	}
	d.made.Store(topic, nil)
	return nil
}

// join makes the group's row.
func (d *Driver) join(ctx context.Context, topic, group string) error {
	if err := errors.Join(checkGroup(group), d.prepare(ctx, topic)); err != nil {
		return err
	}
	if err := d.Dialect.Join(ctx, d.DB, topic, group); err != nil {
		return fmt.Errorf("make group %s of %s: %w", group, topic, err)
	}
	return nil
}

// Lag implements driver.Lagger. A backlog is counted up to 10,000.
func (d *Driver) Lag(ctx context.Context) ([]bus.Lag, error) {
	topics, err := d.Topics(ctx)
	if err != nil {
		return nil, err
	}
	var out []bus.Lag
	for _, topic := range topics {
		groups, err := d.Dialect.Groups(ctx, d.DB, topic, lagLimit)
		if err != nil {
			return nil, d.translate(fmt.Errorf("lag of %s: %w", topic, err))
		}
		for _, g := range groups {
			out = append(out, bus.Lag{Topic: topic, Group: g.Group, Messages: g.Messages, Oldest: g.Oldest})
		}
	}
	return out, nil
}

// HasTopic implements driver.TopicFinder.
func (d *Driver) HasTopic(ctx context.Context, name string) (bool, error) {
	all, err := d.Topics(ctx)
	return slices.Contains(all, name), err
}

// Topics implements driver.TopicFinder.
func (d *Driver) Topics(ctx context.Context) ([]string, error) {
	all, err := sqlrows.Column[string](ctx, d.DB, d.Dialect.TablesQuery(), strings.ReplaceAll(OffsetsTable(""), "_", `\_`)+"%")
	if err != nil {
		return nil, d.translate(fmt.Errorf("topics: %w", err))
	}
	for i, table := range all {
		all[i] = strings.TrimPrefix(table, OffsetsTable(""))
	}
	slices.Sort(all)
	return all, nil
}

// Browse implements driver.Inspector.
func (d *Driver) Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error) {
	if limit <= 0 || checkTopic(topic) != nil {
		return nil, nil // there can be none
	}
	found, err := d.show(ctx, d.Dialect.NewestQuery(topic, limit))
	slices.Reverse(found)
	if err != nil {
		return nil, d.translate(fmt.Errorf("browse %s: %w", topic, err))
	}
	return found, nil
}

// Pending implements driver.Pender.
func (d *Driver) Pending(ctx context.Context, topic, group string, limit int) ([]*message.Message, error) {
	if limit <= 0 || checkTopic(topic) != nil {
		return nil, nil // there can be none
	}
	found, err := d.show(ctx, d.Dialect.PendingQuery(topic, group, limit))
	if err != nil {
		return nil, d.translate(fmt.Errorf("pending of %s in %s: %w", group, topic, err))
	}
	return found, nil
}
