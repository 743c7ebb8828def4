package sqsbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/fault"
)

// driver is the bus on one account and region.
type driver struct {
	client    *sqs.Client
	transport *http.Transport // nil when the client is the application's
	cfg       Config
	queues    *queues
	groups    *groups
	publisher *publisher

	mu     sync.Mutex
	closed bool
	open   map[*source]struct{}
}

var (
	_ bus.Driver = (*driver)(nil)
	_ bus.Pinger = (*driver)(nil)
	_ bus.Lagger = (*driver)(nil)
)

func open(ctx context.Context, at address, cfg Config) (*driver, error) {
	d := &driver{client: cfg.Client, cfg: cfg, groups: newGroups(), open: make(map[*source]struct{})}
	if d.client == nil {
		if err := d.connect(ctx, at); err != nil {
			return nil, err
		}
	}
	d.queues = &queues{client: d.client, cfg: cfg, known: make(map[string]queue)}
	d.publisher = &publisher{client: d.client, queues: d.queues, cfg: cfg}
	return d, nil
}

// Ping implements bus.Pinger by a request that finds no queue. It also says what is wrong
// with the credentials.
func (d *driver) Ping(ctx context.Context) error {
	probe := d.cfg.Prefix + "millrace"
	_, err := d.client.ListQueues(ctx, &sqs.ListQueuesInput{QueueNamePrefix: &probe})
	return translate("ping", err)
}

func (d *driver) connect(ctx context.Context, at address) error {
	account, transport, err := at.Load(ctx, func(next http.RoundTripper) http.RoundTripper { return whole{next} })
	if err != nil {
		return fmt.Errorf("sqsbus: open: %w", err)
	}
	transport.MaxIdleConnsPerHost = 64
	d.transport = transport
	d.client = sqs.NewFromConfig(account, func(o *sqs.Options) {
		if at.endpoint != "" {
			o.BaseEndpoint = &at.endpoint
		}
	})
	return nil
}

func (d *driver) Capabilities() bus.Capabilities {
	fifo := !d.cfg.Standard
	return bus.Capabilities{Durable: true, OrderedPerKey: fifo, IndividualAcks: true, LocksKeys: fifo}
}

func (d *driver) Publisher() message.Publisher { return d.publisher }

// Declare implements bus.Driver. A topic has one group at most; partitions and
// replication are Amazon's business.
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
	if _, err := d.queues.ensure(ctx, t.Name, t.Retention); err != nil {
		return err
	}
	for _, group := range t.Groups {
		if err := d.groups.declare(t.Name, group); err != nil {
			return err
		}
	}
	return nil
}

// counts are the attributes that sum up to what is not deleted.
var counts = []types.QueueAttributeName{
	types.QueueAttributeNameApproximateNumberOfMessages,
	types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
}

// Lag implements bus.Lagger for the topics that this process has declared,
// published to, or subscribed to. The figures are Amazon's approximations, and it
// does not say how old the oldest message is.
func (d *driver) Lag(ctx context.Context) ([]bus.Lag, error) {
	var out []bus.Lag
	for _, q := range d.queues.all() {
		groups := d.groups.all(q.topic)
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
	slices.SortFunc(out, func(a, b bus.Lag) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), strings.Compare(a.Group, b.Group))
	})
	return out, nil
}

// HasTopic implements bus.TopicFinder.
func (d *driver) HasTopic(ctx context.Context, name string) (bool, error) {
	of, err := d.queues.name(name)
	if err != nil {
		return false, translate("topic", err)
	}
	_, err = d.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &of})
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, translate("topic "+name, err)
	}
	return true, nil
}

// Topics implements bus.TopicFinder. A queue has the name of its topic with dots as
// dashes; its tag has the topic, and is read of the first hundred queues.
func (d *driver) Topics(ctx context.Context) ([]string, error) {
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
		if topic, ok := tags.Tags[topicTag]; ok {
			names = append(names, topic)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Close ends sources, publisher and the connections that Open made.
func (d *driver) Close() error {
	d.mu.Lock()
	d.closed = true
	open := slices.Collect(maps.Keys(d.open))
	d.mu.Unlock()
	errs := make([]error, len(open))
	var wg sync.WaitGroup
	for i, s := range open {
		wg.Go(func() { errs[i] = s.Close() })
	}
	wg.Wait()
	errs = append(errs, d.publisher.Close())
	if d.transport != nil {
		d.transport.CloseIdleConnections()
	}
	return errors.Join(errs...)
}

func (d *driver) forget(s *source) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, s)
}

func (d *driver) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}
