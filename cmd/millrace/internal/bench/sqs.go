package bench

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// inSQS finds a queue that is not there; the transport makes it.
func (c Config) inSQS(rawURL string, u *url.URL) func(context.Context) (*place, error) {
	return func(ctx context.Context) (*place, error) {
		prefix := c.Name + "-"
		inside, err := with(rawURL, map[string]string{"prefix": prefix})
		if err != nil {
			return nil, err
		}
		queues := func(ctx context.Context, do func(client *sqs.Client, all []string) error) error {
			client, done, err := sqsClient(ctx, u)
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
		err = queues(ctx, func(_ *sqs.Client, all []string) error {
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
}

// sqsClient makes a client of a transport's URL.
func sqsClient(ctx context.Context, u *url.URL) (_ *sqs.Client, done func(), err error) {
	if u.Hostname() == "" {
		return nil, nil, errors.New("the URL names no region; write sqs://eu-central-1")
	}
	options := []func(*config.LoadOptions) error{config.WithRegion(u.Hostname())}
	if secret, ok := u.User.Password(); ok {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(u.User.Username(), secret, "")))
	}
	account, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, nil, err
	}
	transport := awshttp.NewBuildableClient().GetTransport()
	account.HTTPClient = &http.Client{Transport: transport}
	client := sqs.NewFromConfig(account, func(o *sqs.Options) {
		if endpoint := u.Query().Get("endpoint"); endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
	})
	return client, transport.CloseIdleConnections, nil
}
