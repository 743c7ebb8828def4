package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/millrace-go/millrace/bus/sqsbus/sqsclient"
)

// probe is the name of a queue that does not exist: asking for it needs an address, a
// credential and a permission, and creates nothing.
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
	if !e.asksSQS(ctx, u) || strings.ToLower(u.Scheme) != "sns" {
		return
	}
	e.asksSNS(ctx, u)
}

func (e *examination) asksSQS(ctx context.Context, u *url.URL) (good bool) {
	asking, cancel := e.within(ctx)
	defer cancel()
	client, done, err := sqsclient.Open(asking, u, func(o *sqs.Options) { o.RetryMaxAttempts = 1 })
	if err != nil {
		e.unusable(err, howToWrite(u))
		return false
	}
	defer done()
	name := probe
	_, err = client.GetQueueUrl(asking, &sqs.GetQueueUrlInput{QueueName: &name})
	var none *types.QueueDoesNotExist
	if errors.As(err, &none) || err != nil && strings.Contains(err.Error(), "NonExistentQueue") {
		err = nil
	}
	return e.judge(u, "SQS", err)
}

func (e *examination) asksSNS(ctx context.Context, u *url.URL) {
	asking, cancel := e.within(ctx)
	defer cancel()
	client, done, err := sqsclient.OpenSNS(asking, u, func(o *sns.Options) { o.RetryMaxAttempts = 1 })
	if err != nil {
		e.unusable(err, howToWrite(u))
		return
	}
	defer done()
	_, err = client.ListTopics(asking, &sns.ListTopicsInput{})
	e.judge(u, "SNS", err)
}

// howToWrite is the fix of a URL.
func howToWrite(u *url.URL) string {
	return fmt.Sprintf("write %s://eu-central-1, or %[1]s://key:secret@region/?endpoint=http://host:9324", u.Scheme)
}

// judge reports the answer of a service of AWS, and returns whether it is good.
func (e *examination) judge(u *url.URL, service string, err error) (good bool) {
	switch text := fmt.Sprint(err); {
	case err == nil:
		e.ok("answers", "%s answers, and the credentials are good", service)
		return true
	case isTimeout(err):
		e.silent(service)
	case strings.Contains(text, `parameter "role"`):
		e.add(Error, "authentication", fmt.Sprintf("the role cannot be used: %s", e.said(err)), "let its trust policy allow sts:AssumeRole to the credentials, and correct role and external_id in the URL")
	case strings.Contains(text, "InvalidClientTokenId"), strings.Contains(text, "SignatureDoesNotMatch"), strings.Contains(text, "UnrecognizedClient"):
		e.add(Error, "authentication", "the credentials are wrong", fmt.Sprintf("correct them in the environment, in ~/.aws, or in the URL: %s://key:secret@region", u.Scheme))
	case strings.Contains(text, "AccessDenied"), strings.Contains(text, "AuthorizationError"):
		e.add(Error, "authentication", "these credentials may not use "+service, fmt.Sprintf("allow %s:* on what the application uses, or what it needs", strings.ToLower(service)))
	case strings.Contains(text, "get credentials"), strings.Contains(text, "no EC2 IMDS role"):
		e.add(Error, "authentication", "no credentials were found", fmt.Sprintf("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write %s://key:secret@region", u.Scheme))
	case strings.Contains(text, "RequestExpired"), strings.Contains(text, "RequestTimeTooSkewed"):
		e.add(Error, "clock", "this machine's clock is wrong by more than five minutes", "run NTP (chrony, systemd-timesyncd)")
	default:
		e.add(Error, "answers", fmt.Sprintf("%s refuses: %s", service, e.said(err)), "check region, endpoint and permissions")
	}
	return false
}
