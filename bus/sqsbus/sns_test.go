package sqsbus_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// eachSNSKind runs a test on FIFO and on standard topics.
func eachSNSKind(t *testing.T, run func(t *testing.T, p place)) {
	t.Run("fifo", func(t *testing.T) { run(t, newSNSPlace(t)) })
	t.Run("standard", func(t *testing.T) { run(t, newSNSPlace(t).standard()) })
}

// notifier is a client of SNS separate from the bus's.
func (p place) notifier(t *testing.T) *sns.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return sns.New(sns.Options{
		BaseEndpoint: &p.endpoint, Region: "elasticmq", HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
}

// A group's queue receives the published messages, as on sqs://: SNS wraps nothing.
func TestSNSWireFormat(t *testing.T) {
	eachSNSKind(t, func(t *testing.T, p place) {
		b := open(t, sqsbus.Config{}, p.url)
		for _, group := range []string{"mail", "push.v2"} {
			require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "notices.admitted", Groups: []string{group}}))
		}
		assert.NotContains(t, p.sns.Asked(), "SetQueueAttributes", "a new queue does not let its topic send from the first moment")
		m := message.NewMessage("id-1", []byte(`{"seat":"A-1"}`))
		m.Metadata = message.Metadata{event.KeyHeader: "user/7", "ce_type": "Admitted"}
		publish(t, b, "notices.admitted", m)
		wantGroup, wantID := "user/7", "id-1"
		if p.suffix == "" {
			wantGroup, wantID = "", ""
		}
		for _, queue := range []string{"notices-admitted-mail", "notices-admitted-push-v2"} {
			got := raw(t, p, queue)
			require.Lenf(t, got, 1, "%s has %d messages", queue, len(got))
			assert.Equal(t, string(m.Payload), aws.ToString(got[0].Body), "the body")
			wantAttributes(t, got[0])
			if group, id := got[0].Attributes["MessageGroupId"], got[0].Attributes["MessageDeduplicationId"]; group != wantGroup || id != wantID {
				t.Errorf("the message group is %q and the deduplication id %q, want %q and %q", group, id, wantGroup, wantID)
			}
		}
	})
}

// A group that one process has declared receives messages of another, and so does one that
// subscribes undeclared. A later group receives the messages published from then on.
func TestSNSBroadcast(t *testing.T) {
	t.Parallel()
	eachSNSKind(t, func(t *testing.T, p place) {
		declaring, publishing, late := open(t, sqsbus.Config{}, p.url), open(t, sqsbus.Config{}, p.url), open(t, sqsbus.Config{}, p.url)
		require.NoError(t, declaring.Declare(t.Context(), bus.Topic{Name: "topic", Groups: []string{"declared"}}))
		subscribed, _ := subscribe(t, declaring, "subscribed", "topic", 10)
		publish(t, publishing, "topic", keyed("k", "1"))
		latecomer, _ := subscribe(t, late, "late", "topic", 10)
		publish(t, publishing, "topic", keyed("other", "2"))
		declared, _ := subscribe(t, declaring, "declared", "topic", 10)
		for name, c := range map[string]struct {
			from <-chan *message.Message
			want string
		}{"declared": {declared, "1 2"}, "subscribed": {subscribed, "1 2"}, "late": {latecomer, "2"}} {
			got := map[string]bool{}
			for range strings.Fields(c.want) {
				m := receive(t, c.from)
				got[string(m.Payload)] = true
				m.Ack()
			}
			for _, payload := range strings.Fields(c.want) {
				assert.Truef(t, got[payload], "group %s got %v, want %s", name, got, c.want)
			}
		}
	})
}

// A topic, a queue and a subscription that were created by other means are used: they
// receive missing settings, and keep those they have.
func TestSNSTakesWhatIsThere(t *testing.T) {
	t.Parallel()
	eachSNSKind(t, func(t *testing.T, p place) {
		ctx, notifier := t.Context(), p.notifier(t)
		topic := &sns.CreateTopicInput{Name: aws.String(p.prefix + "topic" + p.suffix)}
		queue := &sqs.CreateQueueInput{QueueName: aws.String(p.prefix + "topic-group" + p.suffix)}
		if p.suffix != "" {
			topic.Attributes = map[string]string{"FifoTopic": "true", "FifoThroughputScope": "Topic"}
			queue.Attributes = map[string]string{"FifoQueue": "true"}
		}
		made, err := notifier.CreateTopic(ctx, topic)
		require.NoError(t, err)
		there, err := p.client.CreateQueue(ctx, queue)
		require.NoError(t, err)
		arn, err := p.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: there.QueueUrl, AttributeNames: []types.QueueAttributeName{"QueueArn"}})
		require.NoError(t, err)
		_, err = notifier.Subscribe(ctx, &sns.SubscribeInput{
			TopicArn: made.TopicArn, Protocol: aws.String("sqs"), Endpoint: aws.String(arn.Attributes["QueueArn"]), Attributes: map[string]string{"RawMessageDelivery": "false"},
		})
		require.NoError(t, err)
		b := open(t, sqsbus.Config{}, p.url)
		for range 2 {
			require.NoError(t, b.Declare(ctx, bus.Topic{Name: "topic", Groups: []string{"group"}}))
		}
		ch, _ := subscribe(t, b, "group", "topic", 10)
		publish(t, b, "topic", keyed("k", "1"))
		m := receive(t, ch)
		if string(m.Payload) != "1" || event.Key(m) != "k" {
			t.Errorf("got %s of the key %s", m.Payload, event.Key(m))
		}
		m.Ack()
	})
}

// Credentials that may not create topics publish to existing ones.
func TestSNSPublishOnly(t *testing.T) {
	p := newSNSPlace(t)
	b := open(t, sqsbus.Config{}, p.url)
	for _, topic := range []string{"a", "b", "c", "d", "e.x"} { // more than an answer lists
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{"group"}}))
	}
	p.sns.Deny("CreateTopic", "Subscribe", "SetSubscriptionAttributes")
	other := open(t, sqsbus.Config{}, p.url)
	publish(t, other, "e.x", keyed("k", "1"))
	ch, _ := subscribe(t, b, "group", "e.x", 10)
	receive(t, ch).Ack()
	var failed *bus.PublishError
	if err := other.Publisher().Publish("absent", keyed("k", "1")); fault.Of(err) != fault.Infrastructure || !errors.As(err, &failed) || failed.Outcomes[0] != driver.NotSent {
		t.Errorf("publishing to a topic that is not there and may not be made: %v (%v)", err, fault.Of(err))
	}
	assert.ErrorIs(t, other.Publisher().Publish("e-x", keyed("k", "1")), sqsbus.ErrOtherTopic, "publishing to a topic whose name is another's")
}

// A topic that was deleted is created again by the next call; Declare gives it its groups.
func TestSNSTopicIsDeleted(t *testing.T) {
	t.Parallel()
	p := newSNSPlace(t)
	b := open(t, sqsbus.Config{}, p.url)
	groups := bus.Topic{Name: "topic", Groups: []string{"group"}}
	require.NoError(t, b.Declare(t.Context(), groups))
	notifier := p.notifier(t)
	remove := func() {
		t.Helper()
		all, err := notifier.ListTopics(t.Context(), &sns.ListTopicsInput{})
		if err != nil || len(all.Topics) != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		_, err = notifier.DeleteTopic(t.Context(), &sns.DeleteTopicInput{TopicArn: all.Topics[0].TopicArn})
		require.NoError(t, err)
	}
	remove()
	require.NoError(t, b.Declare(t.Context(), groups))
	publish(t, b, "topic", keyed("k", "1"))
	ch, _ := subscribe(t, b, "group", "topic", 10)
	receive(t, ch).Ack()
	remove()
	var failed *bus.PublishError
	if err := b.Publisher().Publish("topic", keyed("k", "2")); fault.Of(err) != fault.Infrastructure || !errors.As(err, &failed) || failed.Outcomes[0] != driver.NotSent {
		t.Errorf("publishing to a topic that was deleted: %v (%v)", err, fault.Of(err))
	}
	publish(t, b, "topic", keyed("k", "3"))
}

// Topics, and groups of topics, never share a topic of SNS or a queue unnoticed.
func TestSNSNames(t *testing.T) {
	t.Parallel()
	p := newSNSPlace(t)
	b := open(t, sqsbus.Config{}, p.url)
	declare := func(topic string, groups ...string) error {
		return b.Declare(context.WithoutCancel(t.Context()), bus.Topic{Name: topic, Groups: groups})
	}
	for topic, group := range map[string]string{"payment.events": "mail", "a": "b-c"} {
		require.NoError(t, declare(topic, group))
	}
	long := strings.Repeat("x", 100)
	for _, group := range []string{long, long + "y"} {
		assert.NoError(t, declare("orders", group), "a group with a long name")
	}
	for topic, group := range map[string]string{"payment-events": "push", "a-b": "c"} {
		if err := declare(topic, group); !errors.Is(err, sqsbus.ErrOtherTopic) || fault.Of(err) != fault.Permanent {
			t.Errorf("%s of %s: %v (%v)", group, topic, err, fault.Of(err))
		}
	}
	for _, of := range []bus.Topic{{Name: "a b"}, {Name: "좌석"}, {Name: strings.Repeat("x", 300)}, {Name: "t", Groups: []string{"a/b"}}, {Name: "t", Groups: []string{""}}} {
		if err := declare(of.Name, of.Groups...); fault.Of(err) != fault.Permanent {
			t.Errorf("%v: %v (%v)", of, err, fault.Of(err))
		}
	}
	if all, err := b.Topics(t.Context()); err != nil || fmt.Sprint(all) != "[a a-b orders payment.events t]" {
		t.Errorf("Topics() is %q, %v", all, err)
	}
	// The same prefix on sqs:// has topics of its own.
	queues := open(t, sqsbus.Config{}, "sqs"+strings.TrimPrefix(p.url, "sns"))
	if all, err := queues.Topics(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("Topics() of sqs:// is %q, %v; want none", all, err)
	}
	assert.ErrorIs(t, queues.Publisher().Publish("a-b-c", keyed("k", "1")), sqsbus.ErrOtherTopic, "publishing to a topic whose queue is a group's")
}

func TestSNSURLErrors(t *testing.T) {
	for url, want := range map[string]string{
		"sns://":                                      "write sns://eu-central-1",
		"sns://key:hunter2@r?maxbytes=262145":         "maxbytes is 262145; give 1024 to 262144",
		"sns://key:hunter2@r?topic=x":                 `"topic"`,
		"sns://r?session_token=hunter2":               "write sns://key:secret@region",
		"sns://key:hunter2@r/orders":                  "has a path",
		"sns://key:hunter2@r?fifo=maybe&wait=2s":      `"fifo" is "maybe"`,
		"sns://key:hunter2@r?role=x&external_id=1234": `"role"`,
	} {
		b, err := tryOpen(sqsbus.Config{}, url)
		if err == nil {
			b.Close()
			t.Errorf("%s was opened", url)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want it to say %s", url, err, want)
		}
	}
	if _, err := tryOpen(sqsbus.Config{Client: sqs.New(sqs.Options{})}, "sns://r"); err == nil || !strings.Contains(err.Error(), "Config.SNS") {
		t.Errorf("a client of SQS alone: %v", err)
	}
}
