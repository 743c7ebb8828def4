package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/millrace-go/millrace/cmd/millrace/internal/sqsclient"
)

// probe is the name of a queue that nobody has: asking for it needs an address,
// a credential and a permission, and makes nothing.
const probe = "millrace-doctor-probe"

func (e *examination) sqs(ctx context.Context, u *url.URL) {
	if endpoint, err := url.Parse(u.Query().Get("endpoint")); err == nil && endpoint.Host != "" {
		port := map[string]string{"http": "80", "https": "443"}[endpoint.Scheme]
		if endpoint.Port() != "" {
			port = endpoint.Port()
		}
		if !e.reach(ctx, []string{net.JoinHostPort(endpoint.Hostname(), port)}) {
			return
		}
	}
	asking, cancel := e.within(ctx)
	defer cancel()
	client, done, err := sqsclient.Open(asking, u, func(o *sqs.Options) { o.RetryMaxAttempts = 1 })
	if err != nil {
		e.add(Error, "url", fmt.Sprintf("the URL cannot be used: %s", e.said(err)), "write sqs://eu-central-1, or sqs://key:secret@region/?endpoint=http://host:9324")
		return
	}
	defer done()
	name := probe
	_, err = client.GetQueueUrl(asking, &sqs.GetQueueUrlInput{QueueName: &name})
	var none *types.QueueDoesNotExist
	switch text := fmt.Sprint(err); {
	case err == nil, errors.As(err, &none), strings.Contains(text, "NonExistentQueue"):
		e.ok("answers", "SQS answers, and the credentials are good")
	case isTimeout(err):
		e.silent("SQS")
	case strings.Contains(text, `parameter "role"`):
		e.add(Error, "authentication", fmt.Sprintf("the role cannot be used: %s", e.said(err)), "let its trust policy allow sts:AssumeRole to the credentials, and correct role and external_id in the URL")
	case strings.Contains(text, "InvalidClientTokenId"), strings.Contains(text, "SignatureDoesNotMatch"), strings.Contains(text, "UnrecognizedClient"):
		e.add(Error, "authentication", "the credentials are wrong", "correct them in the environment, in ~/.aws, or in the URL: sqs://key:secret@region")
	case strings.Contains(text, "AccessDenied"):
		e.add(Error, "authentication", "these credentials may not use SQS", "allow sqs:* on the queues, or what the application needs")
	case strings.Contains(text, "get credentials"), strings.Contains(text, "no EC2 IMDS role"):
		e.add(Error, "authentication", "no credentials were found", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write sqs://key:secret@region")
	case strings.Contains(text, "RequestExpired"), strings.Contains(text, "RequestTimeTooSkewed"):
		e.add(Error, "clock", "this machine's clock is wrong by more than five minutes", "run NTP (chrony, systemd-timesyncd)")
	default:
		e.add(Error, "answers", fmt.Sprintf("SQS refuses: %s", e.said(err)), "check region, endpoint and permissions")
	}
}
