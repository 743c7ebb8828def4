package sqsbus

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/millrace-go/millrace/fault"
)

const (
	maxQueueName = 80
	fifoSuffix   = ".fifo" // ends the name of every FIFO queue, and of no other
	topicTag     = "millrace-topic"
)

// queue is a topic's queue.
type queue struct{ topic, url string }

// queues finds and makes the queues of topics. What it has found it remembers.
type queues struct {
	client *sqs.Client
	cfg    Config

	mu    sync.Mutex
	known map[string]queue
}

// suffix ends the names of queues.
func (c Config) suffix() string {
	if c.Standard {
		return ""
	}
	return fifoSuffix
}

// plainName is whether all characters can be in the name of a queue.
func plainName(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

// name is the queue's name of a topic: dots become dashes. Two topics that would
// share a queue are told apart by its tag.
func (q *queues) name(topic string) (string, error) {
	suffix := q.cfg.suffix()
	name := q.cfg.Prefix + strings.ReplaceAll(topic, ".", "-") + suffix
	if topic == "" || len(name) > maxQueueName || !plainName(strings.TrimSuffix(name, suffix)) {
		return "", fault.MarkPermanent(fmt.Errorf("the topic %.80q has no queue name; use A-Z, a-z, 0-9, dot, - and _, %d characters at most",
			topic, maxQueueName-len(suffix)-len(q.cfg.Prefix)))
	}
	return name, nil
}

// get returns the topic's queue, which is made when it does not exist.
func (q *queues) get(ctx context.Context, topic string) (queue, error) {
	q.mu.Lock()
	found, ok := q.known[topic]
	q.mu.Unlock()
	if ok {
		return found, nil
	}
	return q.ensure(ctx, topic, 0)
}

// forget makes the next get look again.
func (q *queues) forget(topic string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.known, topic)
}

// ensure makes the queue of a topic, or looks at the one that is there. A
// retention that is not zero replaces that of an existing queue.
func (q *queues) ensure(ctx context.Context, topic string, retention time.Duration) (queue, error) {
	name, err := q.name(topic)
	if err != nil {
		return queue{}, err
	}
	var url string
	there, err := q.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	switch {
	case err == nil:
		url = aws.ToString(there.QueueUrl)
		if retention != 0 {
			err = q.setRetention(ctx, url, retention)
		}
	case gone(err):
		if retention == 0 {
			retention = q.cfg.Retention
		}
		url, err = q.create(ctx, name, topic, retention)
	}
	if err != nil {
		return queue{}, err
	}
	found := queue{topic: topic, url: url}
	tags, err := q.client.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &url})
	if err != nil {
		return queue{}, err
	}
	// A queue that was made by other means has no tag, and is taken.
	if owner := tags.Tags[topicTag]; owner != "" && owner != topic {
		return queue{}, fault.MarkPermanent(fmt.Errorf("%w: %s is that of %s; topics that differ in dots and dashes only cannot be told apart", ErrOtherTopic, name, owner))
	}
	q.mu.Lock()
	q.known[topic] = found
	q.mu.Unlock()
	return found, nil
}

func (q *queues) create(ctx context.Context, name, topic string, retention time.Duration) (string, error) {
	attributes := map[string]string{
		"VisibilityTimeout":      seconds(q.cfg.Visibility),
		"MessageRetentionPeriod": seconds(retention),
	}
	if !q.cfg.Standard {
		attributes["FifoQueue"] = "true"
		// Keys do not slow each other down.
		attributes["DeduplicationScope"], attributes["FifoThroughputLimit"] = "messageGroup", "perMessageGroupId"
	}
	made, err := q.client.CreateQueue(ctx, &sqs.CreateQueueInput{
		QueueName: &name, Attributes: attributes, Tags: map[string]string{topicTag: topic},
	})
	// Somebody else may have made it in between, with settings of its own.
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

func (q *queues) setRetention(ctx context.Context, url string, retention time.Duration) error {
	_, err := q.client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: &url, Attributes: map[string]string{"MessageRetentionPeriod": seconds(retention)},
	})
	return err
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// all returns the queues met so far.
func (q *queues) all() []queue {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]queue, 0, len(q.known))
	for _, found := range q.known {
		out = append(out, found)
	}
	return out
}
