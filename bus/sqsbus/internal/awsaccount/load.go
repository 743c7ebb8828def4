package awsaccount

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

const (
	// sessionName is the name that CloudTrail shows for a role that was assumed here.
	sessionName = "millrace"
	// early is how long before their end a role's keys are replaced, so that no request in
	// flight outlives them.
	early = time.Minute
)

// Load returns a configuration for clients of AWS. It does not connect. The clients share
// the transport, whose connections the caller closes; wrap, which may be nil, is put around it.
func (a Account) Load(ctx context.Context, wrap func(http.RoundTripper) http.RoundTripper) (aws.Config, *http.Transport, error) {
	options := []func(*config.LoadOptions) error{config.WithRegion(a.Region)}
	if a.Key != "" {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(a.Key, a.Secret, a.SessionToken)))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, nil, err
	}
	// The transport has the environment's certificates and proxies by now; this is a copy,
	// so that its connections end when the caller closes them.
	client, ok := cfg.HTTPClient.(*awshttp.BuildableClient)
	if !ok {
		client = awshttp.NewBuildableClient()
	}
	transport := client.GetTransport()
	if err := a.trust(transport); err != nil {
		return aws.Config{}, nil, err
	}
	cfg.HTTPClient = &http.Client{Transport: transport}
	if wrap != nil {
		cfg.HTTPClient = &http.Client{Transport: wrap(transport)}
	}
	cfg.APIOptions = append(cfg.APIOptions, hideRequests)
	if a.Role != "" {
		cfg.Credentials = aws.NewCredentialsCache(a.assumed(cfg), func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = early })
	}
	return cfg, transport, nil
}

// trust adds the account's authority to those that the transport trusts. STS, which the
// transport reaches too, is AWS's own.
func (a Account) trust(transport *http.Transport) error {
	if a.CA == "" {
		return nil
	}
	pem, err := os.ReadFile(a.CA)
	if err != nil {
		return fmt.Errorf("parameter \"cacertfile\": %w", err)
	}
	pool := transport.TLSClientConfig.RootCAs // of AWS_CA_BUNDLE
	if pool == nil {
		if pool, err = x509.SystemCertPool(); err != nil {
			return err
		}
	}
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("parameter \"cacertfile\": %s holds no certificate in PEM", a.CA)
	}
	transport.TLSClientConfig.RootCAs = pool
	return nil
}

// role is a provider of the credentials of a role.
type role struct {
	aws.CredentialsProvider
	arn string
}

// assumed requests the role's credentials from STS, with those of cfg.
func (a Account) assumed(cfg aws.Config) aws.CredentialsProvider {
	return role{stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), a.Role, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = sessionName
		if a.ExternalID != "" {
			o.ExternalID = &a.ExternalID
		}
	}), a.Role}
}

// Retrieve is that of [aws.CredentialsProvider].
func (r role) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := r.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		err = fmt.Errorf("parameter \"role\": %s was not assumed; its trust policy has to allow sts:AssumeRole to the credentials, and external_id has to be what it asks for: %w", r.arn, err)
	}
	return c, err
}

// hideRequests shortens a server's error about a wrong signature: the error repeats the
// request, and so the session token.
func hideRequests(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("HideRequests", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, meta, err := next.HandleInitialize(ctx, in)
		var said *smithy.GenericAPIError
		if errors.As(err, &said) {
			said.Message, _, _ = strings.Cut(said.Message, "\n")
		}
		return out, meta, err
	}), middleware.Before)
}
