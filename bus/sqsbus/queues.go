package sqsbus

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/millrace-go/millrace/fault"
)

const (
	maxQueueName = 80
	fifoSuffix   = ".fifo" // ends the name of every FIFO queue, and of no other
	topicTag     = "millrace-topic"
	groupTag     = "millrace-group" // only if each group has a queue
)

// queue is a topic's queue, or one of its groups'.
type queue struct {
	owner
	url string
}

// owner is the owner of a queue: a topic, which then has no group here, or a group.
type owner struct{ topic, group string }

// queues finds and creates queues, and remembers those it has found.
type queues struct {
	client *sqs.Client
	cfg    Config
	topics *topics // of SNS, if each group has a queue; nil if each topic has one

	known sync.Map // from owner to queue
}

// owner is the owner of the queue that a group of a topic reads.
func (q *queues) owner(topic, group string) owner {
	if q.topics == nil {
		group = ""
	}
	return owner{topic, group}
}

// suffix ends the names of queues.
func (c Config) suffix() string {
	if c.Standard {
		return ""
	}
	return fifoSuffix
}

// plainName reports whether all characters can be in the name of a queue.
func plainName(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

// dashes is the form of a topic or a group in the name of a queue.
func dashes(name string) string { return strings.ReplaceAll(name, ".", "-") }

// name is the queue's name: dots become dashes. Two owners that would share a queue are
// told apart by its tags. A group's name that is too long ends in its hash.
func (q *queues) name(of owner) (string, error) {
	suffix := q.cfg.suffix()
	base, most := q.cfg.Prefix+dashes(of.topic), maxQueueName-len(suffix)
	if q.topics != nil {
		if of.group == "" || !plainName(dashes(of.group)) {
			return "", fault.MarkPermanent(fmt.Errorf("the group %.80q has no queue name; use A-Z, a-z, 0-9, dot, - and _", of.group))
		}
		if base += "-" + dashes(of.group); len(base) > most {
			sum := sha256.Sum256([]byte(q.cfg.Prefix + of.topic + " " + of.group))
			hash := "-" + hex.EncodeToString(sum[:8])
			base = base[:most-len(hash)] + hash
		}
	}
	if of.topic == "" || len(base) > most || !plainName(dashes(of.topic)) {
		return "", fault.MarkPermanent(fmt.Errorf("the topic %.80q has no queue name; use A-Z, a-z, 0-9, dot, - and _, %d characters at most",
			of.topic, most-len(q.cfg.Prefix)))
	}
	return base + suffix, nil
}

// get returns the queue of a topic, or of a group of it, and creates it if it does not
// exist.
func (q *queues) get(ctx context.Context, topic, group string) (queue, error) {
	if found, ok := q.known.Load(q.owner(topic, group)); ok {
		return found.(queue), nil
	}
	return q.ensure(ctx, topic, group, 0)
}

// lose makes the next get look the queue up again.
func (q *queues) lose(topic, group string) { q.known.Delete(q.owner(topic, group)) }

// ensure creates a queue, or checks an existing one. A retention that is not zero replaces
// that of an existing queue. A group's queue is subscribed to its topic.
func (q *queues) ensure(ctx context.Context, topic, group string, retention time.Duration) (queue, error) {
	of := q.owner(topic, group)
	name, err := q.name(of)
	if err != nil {
		return queue{}, err
	}
	var url string
	there, err := q.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	switch {
	case err == nil:
		url = aws.ToString(there.QueueUrl)
	case gone(err):
		url, err = q.create(ctx, name, of, cmp.Or(retention, q.cfg.Retention))
		retention = 0 // the new queue has it
	}
	if err != nil {
		return queue{}, err
	}
	found := queue{of, url}
	tags, err := q.client.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &url})
	if err != nil {
		return queue{}, err
	}
	// A queue that was created by other means has no tag, and is accepted.
	if is := (owner{tags.Tags[topicTag], tags.Tags[groupTag]}); is.topic != "" && is != of {
		return queue{}, fault.MarkPermanent(fmt.Errorf("%w: %s is that of %s; names that differ in dots and dashes only cannot be told apart", errOtherTopic, name, is))
	}
	if retention != 0 {
		if err := setAttribute(ctx, q.client, url, types.QueueAttributeNameMessageRetentionPeriod, seconds(retention)); err != nil {
			return queue{}, err
		}
	}
	if q.topics != nil {
		if err := q.topics.feed(ctx, found); err != nil {
			return queue{}, err
		}
	}
	q.known.Store(of, found)
	return found, nil
}

// String names a queue's owner in errors.
func (o owner) String() string {
	if o.group == "" {
		return o.topic
	}
	return "group " + o.group + " of " + o.topic
}

func (q *queues) create(ctx context.Context, name string, of owner, retention time.Duration) (string, error) {
	attributes := map[string]string{
		"VisibilityTimeout":      seconds(q.cfg.Visibility),
		"MessageRetentionPeriod": seconds(retention),
	}
	if !q.cfg.Standard {
		attributes["FifoQueue"] = "true"
		// So that keys do not slow each other down.
		attributes["DeduplicationScope"], attributes["FifoThroughputLimit"] = "messageGroup", "perMessageGroupId"
	}
	tags := map[string]string{topicTag: of.topic}
	if q.topics != nil {
		tags[groupTag] = of.group
		var err error
		if attributes[string(types.QueueAttributeNamePolicy)], err = q.topics.policy(ctx, of.topic, name); err != nil {
			return "", err
		}
	}
	made, err := q.client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes, Tags: tags})
	// Another process may have created it since, with settings of its own.
	if isCode(err, "QueueAlreadyExists", "QueueNameExists") {
		there, err := q.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
		if err != nil {
			return "", err
		}
		return aws.ToString(there.QueueUrl), nil
	}
	if err != nil {
		return "", err
	}
	return aws.ToString(made.QueueUrl), nil
}

func setAttribute(ctx context.Context, client *sqs.Client, url string, name types.QueueAttributeName, value string) error {
	_, err := client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{string(name): value}})
	return err
}

// address implements sink: the URL of the topic's queue.
func (q *queues) address(ctx context.Context, topic string) (string, error) {
	found, err := q.get(ctx, topic, "")
	return found.url, err
}

// forget implements sink.
func (q *queues) forget(topic string) { q.lose(topic, "") }

// send implements sink.
func (q *queues) send(ctx context.Context, url string, batch []types.SendMessageBatchRequestEntry) ([]types.BatchResultErrorEntry, error) {
	out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: batch})
	if err != nil {
		return nil, err
	}
	return out.Failed, nil
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// all returns the queues found so far.
func (q *queues) all() (found []queue) {
	for _, one := range q.known.Range {
		found = append(found, one.(queue))
	}
	return found
}
