// Package sqsclient opens what an sqs:// URL names, for the operator's tool.
package sqsclient

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

// Open makes a client of a transport's URL; done closes its connections.
func Open(ctx context.Context, u *url.URL, options ...func(*sqs.Options)) (_ *sqs.Client, done func(), err error) {
	if u.Hostname() == "" {
		return nil, nil, errors.New("the URL names no region; write sqs://eu-central-1")
	}
	loading := []func(*config.LoadOptions) error{config.WithRegion(u.Hostname())}
	if secret, ok := u.User.Password(); ok {
		loading = append(loading, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(u.User.Username(), secret, "")))
	}
	account, err := config.LoadDefaultConfig(ctx, loading...)
	if err != nil {
		return nil, nil, err
	}
	transport := awshttp.NewBuildableClient().GetTransport()
	account.HTTPClient = &http.Client{Transport: transport}
	client := sqs.NewFromConfig(account, append([]func(*sqs.Options){func(o *sqs.Options) {
		if endpoint := u.Query().Get("endpoint"); endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
	}}, options...)...)
	return client, transport.CloseIdleConnections, nil
}
