package noticetest

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/queuenotice"
)

func TestSQS(t *testing.T) {
	endpoint, prefix := servicetest.SQS(t), "t"+uuid.NewString()[:8]+"-"
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := sqs.New(sqs.Options{
		BaseEndpoint: &endpoint, Region: "elasticmq", HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	ctx := context.Background()
	address := "sqs://key:secret@elasticmq/?" + url.Values{"endpoint": {endpoint}, "prefix": {prefix}, "wait": {"50ms"}}.Encode()
	b, err := bus.Open(ctx, address, sqsbus.Scheme(sqsbus.Config{Logger: slog.New(slog.DiscardHandler)}))
	require.NoError(t, err)
	defer func() {
		assert.NoError(t, b.Close())
	}()
	require.NoError(t, b.Declare(ctx, bus.Topic{Name: "queue-admitted"}))
	queues, err := client.ListQueues(ctx, &sqs.ListQueuesInput{QueueNamePrefix: &prefix})
	if err != nil || len(queues.QueueUrls) != 1 {
		t.Fatalf("%v, %v", queues, err)
	}
	queueURL := queues.QueueUrls[0]
	defer func() {
		_, err := client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &queueURL})
		assert.NoError(t, err)
	}()

	n, err := queuenotice.New(b.Publisher(), queuenotice.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	notice := func(user string) queue.Notice {
		return queue.Notice{Event: "show-1", User: user, Entry: queue.Entry{ID: "e-" + user}, Time: time.UnixMilli(1_700_000_000_123)}
	}
	n.Notify(notice("ada"))
	n.Notify(notice("ada")) // again within five minutes
	n.Notify(notice("bob"))
	ended, cancel := context.WithCancel(ctx)
	cancel() // Run publishes its buffer before it returns
	require.NoError(t, n.Run(ended))
	if published, dropped := n.Counts(); published != 3 || dropped != 0 {
		t.Errorf("%d published, %d dropped", published, dropped)
	}
	var got []types.Message
	for len(got) < 2 {
		out, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &queueURL, MaxNumberOfMessages: 10, WaitTimeSeconds: 1,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		})
		require.NoError(t, err)
		if len(out.Messages) == 0 {
			break
		}
		got = append(got, out.Messages...)
	}
	require.Len(t, got, 2, "messages, want those of ada and bob")
	for i, want := range []string{"ada:show-1", "bob:show-1"} {
		if group, id := got[i].Attributes["MessageGroupId"], got[i].Attributes["MessageDeduplicationId"]; group != "show-1" || id != want {
			t.Errorf("group %q, deduplication %q; want show-1 and %q", group, id, want)
		}
		if body := aws.ToString(got[i].Body); !strings.HasPrefix(body, `{"action":"admitted","eventId":"show-1"`) {
			t.Errorf("body %s", body)
		}
	}
}
