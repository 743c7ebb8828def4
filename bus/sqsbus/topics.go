package sqsbus

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/millrace-go/millrace/fault"
)

const maxTopicName = 256

// topics finds and creates the topics of SNS, sends to them, and subscribes queues. It
// remembers the topics it has found.
type topics struct {
	client *sns.Client
	queues *sqs.Client
	cfg    Config
	known  sync.Map // from a topic to its ARN
}

// name is the name in SNS of a topic: dots become dashes. Two topics that would share one
// are told apart by its tag.
func (t *topics) name(topic string) (string, error) {
	suffix := t.cfg.suffix()
	name := t.cfg.Prefix + dashes(topic) + suffix
	if topic == "" || len(name) > maxTopicName || !plainName(strings.TrimSuffix(name, suffix)) {
		return "", fault.MarkPermanent(fmt.Errorf("the topic %.80q has no name in SNS; use A-Z, a-z, 0-9, dot, - and _, %d characters at most",
			topic, maxTopicName-len(suffix)-len(t.cfg.Prefix)))
	}
	return name, nil
}

// address implements sink: the topic's ARN. It is created if it does not exist.
func (t *topics) address(ctx context.Context, topic string) (string, error) {
	if arn, ok := t.known.Load(topic); ok {
		return arn.(string), nil
	}
	return t.ensure(ctx, topic)
}

// ensure creates a topic, or finds an existing one.
func (t *topics) ensure(ctx context.Context, topic string) (string, error) {
	name, err := t.name(topic)
	if err != nil {
		return "", err
	}
	arn, err := t.make(ctx, name, topic)
	if err != nil {
		return "", err
	}
	t.known.Store(topic, arn)
	return arn, nil
}

// forget implements sink.
func (t *topics) forget(topic string) { t.known.Delete(topic) }

func (t *topics) make(ctx context.Context, name, topic string) (string, error) {
	in := &sns.CreateTopicInput{Name: &name, Tags: []snstypes.Tag{{Key: aws.String(topicTag), Value: &topic}}}
	if !t.cfg.Standard {
		// So that keys do not slow each other down.
		in.Attributes = map[string]string{"FifoTopic": "true", "FifoThroughputScope": "MessageGroup"}
	}
	made, err := t.client.CreateTopic(ctx, in)
	switch {
	case err == nil:
		return aws.ToString(made.TopicArn), nil
	case isCode(err, "AuthorizationError"): // it may exist nevertheless
		arn, ferr := t.find(ctx, name)
		if ferr != nil || arn == "" {
			return "", err
		}
		return arn, t.owned(ctx, arn, topic)
	case !isCode(err, "InvalidParameter"):
		return "", err
	}
	// The topic exists, with other settings or tags than ours.
	in.Tags = nil
	delete(in.Attributes, "FifoThroughputScope")
	if made, err = t.client.CreateTopic(ctx, in); err != nil {
		return "", err
	}
	arn := aws.ToString(made.TopicArn)
	return arn, t.owned(ctx, arn, topic)
}

// owned checks that a topic of SNS is not another topic's. One that was created by other
// means has no tag, and is accepted.
func (t *topics) owned(ctx context.Context, arn, topic string) error {
	owner, err := t.owner(ctx, arn)
	if err != nil {
		return err
	}
	if owner != "" && owner != topic {
		return fault.MarkPermanent(fmt.Errorf("%w: %s is that of %s; topics that differ in dots and dashes only cannot be told apart", errOtherTopic, arn, owner))
	}
	return nil
}

func (t *topics) owner(ctx context.Context, arn string) (string, error) {
	tags, err := t.client.ListTagsForResource(ctx, &sns.ListTagsForResourceInput{ResourceArn: &arn})
	if err != nil {
		return "", err
	}
	for _, tag := range tags.Tags {
		if aws.ToString(tag.Key) == topicTag {
			return aws.ToString(tag.Value), nil
		}
	}
	return "", nil
}

// find looks for a topic of SNS by its name, and returns no ARN when there is none.
func (t *topics) find(ctx context.Context, name string) (found string, err error) {
	err = t.each(ctx, func(arn, have string) bool {
		if have == name {
			found = arn
		}
		return found == ""
	})
	return found, err
}

// each calls do with every topic of SNS until it returns false.
func (t *topics) each(ctx context.Context, do func(arn, name string) bool) error {
	pages := sns.NewListTopicsPaginator(t.client, &sns.ListTopicsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, topic := range page.Topics {
			arn := aws.ToString(topic.TopicArn)
			if !do(arn, arn[strings.LastIndexByte(arn, ':')+1:]) {
				return nil
			}
		}
	}
	return nil
}

// list returns the topics by their tags, which are read for the first hundred of the prefix.
func (t *topics) list(ctx context.Context) (names []string, err error) {
	var arns []string
	err = t.each(ctx, func(arn, name string) bool {
		if strings.HasPrefix(name, t.cfg.Prefix) && strings.HasSuffix(name, fifoSuffix) != t.cfg.Standard {
			arns = append(arns, arn)
		}
		return len(arns) < 100
	})
	if err != nil {
		return nil, err
	}
	for _, arn := range arns {
		switch topic, err := t.owner(ctx, arn); {
		case isCode(err, "ResourceNotFound", "NotFound"):
		case err != nil:
			return nil, err
		case topic != "":
			names = append(names, topic)
		}
	}
	return names, nil
}

// send implements sink.
func (t *topics) send(ctx context.Context, arn string, batch []types.SendMessageBatchRequestEntry) ([]types.BatchResultErrorEntry, error) {
	in := &sns.PublishBatchInput{TopicArn: &arn, PublishBatchRequestEntries: make([]snstypes.PublishBatchRequestEntry, len(batch))}
	for i, e := range batch {
		attributes := make(map[string]snstypes.MessageAttributeValue, len(e.MessageAttributes))
		for name, a := range e.MessageAttributes {
			attributes[name] = snstypes.MessageAttributeValue{DataType: a.DataType, StringValue: a.StringValue, BinaryValue: a.BinaryValue}
		}
		in.PublishBatchRequestEntries[i] = snstypes.PublishBatchRequestEntry{
			Id: e.Id, Message: e.MessageBody, MessageAttributes: attributes,
			MessageGroupId: e.MessageGroupId, MessageDeduplicationId: e.MessageDeduplicationId,
		}
	}
	out, err := t.client.PublishBatch(ctx, in)
	if err != nil {
		return nil, err
	}
	failed := make([]types.BatchResultErrorEntry, len(out.Failed))
	for i, f := range out.Failed {
		failed[i] = types.BatchResultErrorEntry{Id: f.Id, Code: f.Code, Message: f.Message, SenderFault: f.SenderFault}
	}
	return failed, nil
}

// policy is the policy of a new queue with this name: it lets the topic send from the first
// moment, while a change takes effect in SQS after a minute.
func (t *topics) policy(ctx context.Context, topic, queue string) (string, error) {
	address, err := t.address(ctx, topic)
	if err != nil {
		return "", err
	}
	beside, err := arn.Parse(address)
	if err != nil {
		return "", err
	}
	beside.Service, beside.Resource = "sqs", queue
	return allowing("", beside.String(), address)
}

// feed makes a group's queue receive the messages published to its topic from now on.
func (t *topics) feed(ctx context.Context, q queue) error {
	topic, err := t.address(ctx, q.topic)
	if err != nil {
		return err
	}
	have, err := t.queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn, types.QueueAttributeNamePolicy},
	})
	if err != nil {
		return err
	}
	arn := have.Attributes[string(types.QueueAttributeNameQueueArn)]
	policy, err := allowing(have.Attributes[string(types.QueueAttributeNamePolicy)], arn, topic)
	if err != nil {
		return fault.MarkPermanent(fmt.Errorf("the policy of the queue %s cannot be read, so %s is not added: %w", arn, topic, err))
	}
	if policy != "" {
		if err := setAttribute(ctx, t.queues, q.url, types.QueueAttributeNamePolicy, policy); err != nil {
			return err
		}
	}
	err = t.subscribe(ctx, topic, arn)
	if gone(err) {
		t.forget(q.topic)
	}
	return err
}

// subscribe subscribes a queue, raw: SNS does not wrap the messages.
func (t *topics) subscribe(ctx context.Context, topic, queue string) error {
	const raw = "RawMessageDelivery"
	in := &sns.SubscribeInput{
		TopicArn: &topic, Protocol: aws.String("sqs"), Endpoint: &queue, ReturnSubscriptionArn: true,
		Attributes: map[string]string{raw: "true"},
	}
	_, err := t.client.Subscribe(ctx, in)
	if !isCode(err, "InvalidParameter") {
		return err
	}
	// The queue is subscribed, with other settings.
	in.Attributes = nil
	there, err := t.client.Subscribe(ctx, in)
	if err != nil {
		return err
	}
	_, err = t.client.SetSubscriptionAttributes(ctx, &sns.SetSubscriptionAttributesInput{
		SubscriptionArn: there.SubscriptionArn, AttributeName: aws.String(raw), AttributeValue: aws.String("true"),
	})
	return err
}
