// Package sqsclient opens clients for sqs:// and sns:// URLs, for the operator's tool.
package sqsclient

import (
	"context"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/millrace-go/millrace/bus/sqsbus/internal/awsaccount"
)

// Open makes a client of SQS for a transport's URL; done closes its connections.
func Open(ctx context.Context, u *url.URL, options ...func(*sqs.Options)) (_ *sqs.Client, done func(), err error) {
	account, at, done, err := load(ctx, u)
	if err != nil {
		return nil, nil, err
	}
	options = append(options, func(o *sqs.Options) { o.BaseEndpoint = at.Base(o.BaseEndpoint) })
	return sqs.NewFromConfig(account, options...), done, nil
}

// OpenSNS makes a client of SNS in the same way.
func OpenSNS(ctx context.Context, u *url.URL, options ...func(*sns.Options)) (_ *sns.Client, done func(), err error) {
	account, at, done, err := load(ctx, u)
	if err != nil {
		return nil, nil, err
	}
	options = append(options, func(o *sns.Options) { o.BaseEndpoint = at.Base(o.BaseEndpoint) })
	return sns.NewFromConfig(account, options...), done, nil
}

func load(ctx context.Context, u *url.URL) (account aws.Config, at awsaccount.Account, done func(), err error) {
	if at, err = awsaccount.Of(u); err != nil {
		return account, at, nil, err
	}
	account, transport, err := at.Load(ctx, nil)
	if err != nil {
		return account, at, nil, err
	}
	return account, at, transport.CloseIdleConnections, nil
}
