package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
)

// prefixed is a driver whose topics and groups have a prefix in the cluster.
type prefixed struct {
	*driver
	prefix string
}

var prefixName = regexp.MustCompile(`^[a-zA-Z0-9._-]{0,64}$`)

func checkPrefix(prefix string) error {
	if !prefixName.MatchString(prefix) || internal(prefix) {
		return fmt.Errorf("parameter \"prefix\" is %.80q; use up to 64 of a-z, A-Z, 0-9, . _ -, such as staging., and not __ at its beginning", prefix)
	}
	return nil
}

// Source implements busdriver.Driver.
func (d *prefixed) Source(ctx context.Context, topic, group string, size int) (busdriver.Source, error) {
	if group != "" {
		group = d.prefix + group
	}
	return d.driver.Source(ctx, d.prefix+topic, group, size)
}

// Publisher implements busdriver.Driver.
func (d *prefixed) Publisher() message.Publisher {
	return prefixedPublisher{d.driver.publisher, d.prefix}
}

type prefixedPublisher struct {
	*publisher
	prefix string
}

func (p prefixedPublisher) Publish(topic string, messages ...*message.Message) error {
	err := p.publisher.Publish(p.prefix+topic, messages...)
	if failed := (*bus.PublishError)(nil); errors.As(err, &failed) {
		failed.Topic = topic
	}
	return err
}

// Declare implements busdriver.Driver.
func (d *prefixed) Declare(ctx context.Context, topics ...bus.Topic) error {
	topics = slices.Clone(topics)
	for i, t := range topics {
		groups := slices.Clone(t.Groups)
		for j, g := range groups {
			groups[j] = d.prefix + g
		}
		topics[i].Name, topics[i].Groups = d.prefix+t.Name, groups
	}
	return d.driver.Declare(ctx, topics...)
}

// Lag implements driver.Lagger. With ?lag=all it reports the groups with the prefix.
func (d *prefixed) Lag(ctx context.Context) ([]bus.Lag, error) {
	all, err := d.driver.Lag(ctx)
	var out []bus.Lag
	for _, l := range all {
		topic, ok := strings.CutPrefix(l.Topic, d.prefix)
		group, too := strings.CutPrefix(l.Group, d.prefix)
		if ok && too {
			l.Topic, l.Group = topic, group
			out = append(out, l)
		}
	}
	return out, err
}

// HasTopic implements driver.TopicFinder.
func (d *prefixed) HasTopic(ctx context.Context, name string) (bool, error) {
	return d.driver.HasTopic(ctx, d.prefix+name)
}

// Topics implements driver.TopicFinder.
func (d *prefixed) Topics(ctx context.Context) ([]string, error) {
	all, err := d.driver.Topics(ctx)
	var out []string
	for _, name := range all {
		if name, ok := strings.CutPrefix(name, d.prefix); ok {
			out = append(out, name)
		}
	}
	return out, err
}

// Browse implements driver.Inspector.
func (d *prefixed) Browse(ctx context.Context, topic string, limit int) ([]*message.Message, error) {
	return d.driver.Browse(ctx, d.prefix+topic, limit)
}

// Pending implements driver.Pender.
func (d *prefixed) Pending(ctx context.Context, topic, group string, limit int) ([]*message.Message, error) {
	return d.driver.Pending(ctx, d.prefix+topic, d.prefix+group, limit)
}

// Groups implements driver.GroupAdmin: those with the prefix.
func (d *prefixed) Groups(ctx context.Context, topics ...string) ([]busdriver.Group, error) {
	if len(topics) == 0 { // and not those of all environments
		own, err := d.Topics(ctx)
		if err != nil || len(own) == 0 {
			return nil, err
		}
		topics = own
	}
	topics = slices.Clone(topics)
	for i, t := range topics {
		topics[i] = d.prefix + t
	}
	all, err := d.driver.Groups(ctx, topics...)
	var out []busdriver.Group
	for _, g := range all {
		topic, ok := strings.CutPrefix(g.Topic, d.prefix)
		group, too := strings.CutPrefix(g.Group, d.prefix)
		if ok && too {
			g.Topic, g.Group = topic, group
			out = append(out, g)
		}
	}
	return out, err
}

// ResetGroup implements driver.GroupResetter.
func (d *prefixed) ResetGroup(ctx context.Context, topic, group string, to bus.Place, dryRun bool) (busdriver.Moved, error) {
	return d.driver.ResetGroup(ctx, d.prefix+topic, d.prefix+group, to, dryRun)
}

// DeleteGroup implements driver.GroupAdmin.
func (d *prefixed) DeleteGroup(ctx context.Context, topic, group string) error {
	return d.driver.DeleteGroup(ctx, d.prefix+topic, d.prefix+group)
}

// Read implements driver.Reader.
func (d *prefixed) Read(ctx context.Context, topic string, from bus.Place, fn func(*message.Message) error) error {
	return d.driver.Read(ctx, d.prefix+topic, from, fn)
}
