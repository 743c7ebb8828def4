package sqsbus

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/sqsbus/internal/awsaccount"
	"github.com/millrace-go/millrace/fault"
)

// driver is the bus on one account and region.
type driver struct {
	client    *sqs.Client
	topics    *topics         // of SNS; nil on sqs://
	transport *http.Transport // nil when the client is the application's
	cfg       Config
	queues    *queues
	groups    *groups
	publisher *publisher
}

var (
	_ busdriver.Driver = (*driver)(nil)
	_ busdriver.Pinger = (*driver)(nil)
	_ busdriver.Lagger = (*driver)(nil)
)

// open makes a driver; with notify, topics are those of SNS.
func open(ctx context.Context, at awsaccount.Account, cfg Config, notify bool) (*driver, error) {
	d := &driver{client: cfg.Client, cfg: cfg, groups: newGroups(notify)}
	notifier := cfg.SNS
	if d.client == nil {
		var err error
		if notifier, err = d.connect(ctx, at); err != nil {
			return nil, err
		}
	}
	d.queues = &queues{client: d.client, cfg: cfg}
	d.publisher = &publisher{sink: d.queues, cfg: cfg}
	if notify {
		d.topics = &topics{client: notifier, queues: d.client, cfg: cfg}
		d.queues.topics, d.publisher.sink = d.topics, d.topics
	}
	return d, nil
}

// Ping implements driver.Pinger by a request that finds no queue. It also checks the credentials.
func (d *driver) Ping(ctx context.Context) error {
	probe := d.cfg.Prefix + "millrace"
	_, err := d.client.ListQueues(ctx, &sqs.ListQueuesInput{QueueNamePrefix: &probe})
	if err == nil && d.topics != nil {
		_, err = d.topics.client.ListTopics(ctx, &sns.ListTopicsInput{})
	}
	return translate("ping", err)
}

// connect makes the clients, and returns that of SNS.
func (d *driver) connect(ctx context.Context, at awsaccount.Account) (*sns.Client, error) {
	account, transport, err := at.Load(ctx, func(next http.RoundTripper) http.RoundTripper { return whole{next} })
	if err != nil {
		return nil, fmt.Errorf("sqsbus: open: %w", err)
	}
	transport.MaxIdleConnsPerHost = 64
	d.transport = transport
	d.client = sqs.NewFromConfig(account, func(o *sqs.Options) { o.BaseEndpoint = at.Base(o.BaseEndpoint) })
	return sns.NewFromConfig(account, func(o *sns.Options) { o.BaseEndpoint = at.Base(o.BaseEndpoint) }), nil
}

func (d *driver) Capabilities() busdriver.Capabilities {
	fifo := !d.cfg.Standard
	return busdriver.Capabilities{
		Durable: true, OrderedPerKey: fifo, ConsumerGroups: d.topics != nil, Broadcast: d.topics != nil,
		IndividualAcks: true, LocksKeys: fifo,
	}
}

func (d *driver) Publisher() message.Publisher { return d.publisher }

// Declare implements busdriver.Driver. On sqs:// a topic has one group at most; Amazon decides
// partitions and replication.
func (d *driver) Declare(ctx context.Context, topics ...bus.Topic) error {
	for _, t := range topics {
		if err := d.declare(ctx, t); err != nil {
			return translate("declare "+t.Name, err)
		}
	}
	return nil
}

func (d *driver) declare(ctx context.Context, t bus.Topic) error {
	if r := t.Retention; r != 0 && (r < minRetention || r > maxRetention) {
		return fault.MarkPermanent(fmt.Errorf("the retention is %s; SQS keeps messages %s to %s", r, minRetention, maxRetention))
	}
	if d.topics != nil {
		if _, err := d.topics.ensure(ctx, t.Name); err != nil {
			return err
		}
	} else if _, err := d.queues.ensure(ctx, t.Name, "", t.Retention); err != nil {
		return err
	}
	for _, group := range t.Groups {
		if err := d.groups.declare(t.Name, group); err != nil {
			return err
		}
		if d.topics == nil {
			continue
		}
		if _, err := d.queues.ensure(ctx, t.Name, group, t.Retention); err != nil {
			return err
		}
	}
	return nil
}

// counts are the attributes whose sum is the number of messages that are not deleted.
var counts = []types.QueueAttributeName{
	types.QueueAttributeNameApproximateNumberOfMessages,
	types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
}

// Lag implements driver.Lagger for the topics that this process has declared, published to, or
// subscribed to. The numbers are Amazon's approximations, and the age of the oldest message
// is unknown.
func (d *driver) Lag(ctx context.Context) ([]bus.Lag, error) {
	var out []bus.Lag
	for _, q := range d.queues.all() {
		groups := []string{q.group}
		if d.topics == nil {
			groups = d.groups.all(q.topic)
		}
		if len(groups) == 0 {
			continue
		}
		got, err := d.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: counts})
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, translate("lag of "+q.topic, err)
		}
		lag := bus.Lag{Topic: q.topic}
		for _, name := range counts {
			n, err := strconv.Atoi(got.Attributes[string(name)])
			if err == nil {
				lag.Messages += n
			}
		}
		for _, lag.Group = range groups {
			out = append(out, lag)
		}
	}
	return out, nil
}

// HasTopic implements driver.TopicFinder.
func (d *driver) HasTopic(ctx context.Context, name string) (bool, error) {
	if d.topics != nil {
		of, err := d.topics.name(name)
		if err != nil {
			return false, translate("topic", err)
		}
		arn, err := d.topics.find(ctx, of)
		return arn != "", translate("topic "+name, err)
	}
	of, err := d.queues.name(owner{topic: name})
	if err != nil {
		return false, translate("topic", err)
	}
	_, err = d.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &of})
	if gone(err) {
		return false, nil
	}
	return err == nil, translate("topic "+name, err)
}

// Topics implements driver.TopicFinder. A queue, or a topic of SNS, has the name of its topic
// with dots as dashes. Its tag holds the topic; the tags of the first hundred are read.
func (d *driver) Topics(ctx context.Context) ([]string, error) {
	if d.topics != nil {
		names, err := d.topics.list(ctx)
		slices.Sort(names)
		return names, translate("topics", err)
	}
	ask := &sqs.ListQueuesInput{MaxResults: aws.Int32(100)}
	if d.cfg.Prefix != "" {
		ask.QueueNamePrefix = &d.cfg.Prefix
	}
	found, err := d.client.ListQueues(ctx, ask)
	if err != nil {
		return nil, translate("topics", err)
	}
	var names []string
	for _, url := range found.QueueUrls {
		if strings.HasSuffix(url, fifoSuffix) == d.cfg.Standard {
			continue // of a bus of the other kind
		}
		tags, err := d.client.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &url})
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, translate("topics", err)
		}
		if topic, ok := tags.Tags[topicTag]; ok && tags.Tags[groupTag] == "" {
			names = append(names, topic)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Close ends the publisher and the connections that Open made.
func (d *driver) Close() error {
	err := d.publisher.Close()
	if d.transport != nil {
		d.transport.CloseIdleConnections()
	}
	return err
}
