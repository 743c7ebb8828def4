// Package sqsclient opens what an sqs:// URL names, for the operator's tool.
package sqsclient

import (
	"context"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/millrace-go/millrace/internal/awsaccount"
)

// Open makes a client of a transport's URL; done closes its connections.
func Open(ctx context.Context, u *url.URL, options ...func(*sqs.Options)) (_ *sqs.Client, done func(), err error) {
	q := u.Query()
	at, err := awsaccount.Of(u, q.Get("session_token"), q.Get("role"), q.Get("external_id"))
	if err != nil {
		return nil, nil, err
	}
	account, transport, err := at.Load(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	client := sqs.NewFromConfig(account, append([]func(*sqs.Options){func(o *sqs.Options) {
		if endpoint := q.Get("endpoint"); endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
	}}, options...)...)
	return client, transport.CloseIdleConnections, nil
}
