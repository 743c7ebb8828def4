package bench

import (
	"context"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/millrace-go/millrace/bus/sqsbus/sqsclient"
)

// inSQS finds a queue that does not exist; the transport creates it.
func (c Config) inSQS(ctx context.Context, rawURL string, u *url.URL) (*place, error) {
	prefix := c.Name + "-"
	inside := with(*u, map[string]string{"prefix": prefix})
	queues := func(ctx context.Context, do func(client *sqs.Client, all []string) error) error {
		client, done, err := sqsclient.Open(ctx, u)
		if err != nil {
			return err
		}
		defer done()
		found, err := client.ListQueues(ctx, &sqs.ListQueuesInput{QueueNamePrefix: &prefix})
		if err != nil {
			return err
		}
		return do(client, found.QueueUrls)
	}
	what := "the queue " + prefix + c.Name + ".fifo"
	err := queues(ctx, func(_ *sqs.Client, all []string) error {
		if len(all) > 0 {
			return taken(what, "aws sqs delete-queue --queue-url "+all[0])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &place{url: inside, what: what, remove: func(ctx context.Context) error {
		return queues(ctx, func(client *sqs.Client, all []string) error {
			for _, queue := range all {
				if _, err := client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &queue}); err != nil {
					return err
				}
			}
			return nil
		})
	}}, nil
}
