package dynamogate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

// URL is the place of the tables, as [ParseURL] returns it.
type URL struct {
	region, prefix, endpoint string
	key, secret              string // both or none

	// Create says whether the URL asks for CreateTables of its store. The caller has to call
	// it: it takes seconds, and fails while DynamoDB is unreachable.
	Create bool
}

// ParseURL reads
//
//	dynamodb://eu-central-1            tables counters and positions; credentials as the AWS tools find them
//	dynamodb://eu-central-1/shop-      tables shop-counters and shop-positions
//	dynamodb://key:secret@local?endpoint=http://127.0.0.1:8000&create=true
//
// with the parameters
//
//	endpoint=       another server, such as DynamoDB Local
//	create=true     have the program make the tables that are missing: see the field Create
//
// Errors name the wrong part, and show no secret. ParseURL makes no connection.
func ParseURL(raw string) (URL, error) {
	a, err := parseURL(raw)
	if err != nil {
		return URL{}, fmt.Errorf("dynamogate: %w", err)
	}
	return a, nil
}

func parseURL(raw string) (a URL, err error) {
	u, err := kit.ParseURL(raw)
	if err != nil {
		return a, err
	}
	switch {
	case u.Scheme != "dynamodb":
		return a, fmt.Errorf("the scheme is %.40q; write dynamodb://eu-central-1", u.Scheme)
	case u.Hostname() == "":
		return a, errors.New("the URL names no region; write dynamodb://eu-central-1")
	case u.Port() != "":
		return a, errors.New("the URL's host is a region and has no port; name a server by ?endpoint=http://host:port")
	}
	a.region, a.prefix = u.Hostname(), strings.TrimPrefix(u.Path, "/")
	if _, err := a.tables().complete(); err != nil {
		return a, fmt.Errorf("the path %.40q stands before the names of the tables; use at most 240 letters, digits, dots, hyphens and underscores, as in dynamodb://%s/shop-", a.prefix, a.region)
	}
	if u.User != nil {
		a.key = u.User.Username()
		if a.secret, _ = u.User.Password(); a.secret == "" || a.key == "" {
			return a, errors.New("the URL has half a credential; write dynamodb://key:secret@region, or no user at all")
		}
	}
	return a, a.parameters(u)
}

func (a *URL) parameters(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("the parameters cannot be read; write ?endpoint=http://host:port&create=true")
	}
	for name, values := range query {
		switch {
		case !slices.Contains([]string{"endpoint", "create"}, name):
			return fmt.Errorf("unknown parameter %.40q; known are: create, endpoint", name)
		case len(values) > 1:
			return fmt.Errorf("the parameter %s stands %d times; give it once", name, len(values))
		}
	}
	if a.endpoint = query.Get("endpoint"); query.Has("endpoint") {
		e, err := kit.ParseURL(a.endpoint)
		if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil {
			return errors.New("the endpoint is no URL of a server; write ?endpoint=http://host:port")
		}
	}
	if query.Has("create") {
		if a.Create, err = strconv.ParseBool(query.Get("create")); err != nil {
			return fmt.Errorf("create is %.40q; write create=true or create=false", query.Get("create"))
		}
	}
	return nil
}

// tables are the table names of the URL.
func (a URL) tables() Config {
	if a.prefix == "" {
		return Config{}
	}
	return Config{Counters: a.prefix + "counters", Positions: a.prefix + "positions"}
}

// Open makes a client and a store on it, whose Close ends the client's connections. It reads the
// configuration of the AWS tools, and makes no connection.
func (a URL) Open(ctx context.Context) (driver.TableStore, error) {
	options := []func(*config.LoadOptions) error{config.WithRegion(a.region)}
	if a.key != "" {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(a.key, a.secret, "")))
	}
	account, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("dynamogate: open: %w", err)
	}
	// The transport has the environment's certificates and proxies by now; ours is
	// a copy, so that its connections end with the store.
	client, ok := account.HTTPClient.(*awshttp.BuildableClient)
	if !ok {
		client = awshttp.NewBuildableClient()
	}
	transport := client.GetTransport()
	account.HTTPClient = &http.Client{Transport: transport}
	account.Logger = logging.Nop{} // errors are returned
	return open(dynamodb.NewFromConfig(account, func(o *dynamodb.Options) {
		if a.endpoint != "" {
			o.BaseEndpoint = &a.endpoint
		}
	}), a.tables(), transport.CloseIdleConnections)
}

// Close implements [driver.TableStore].
func (s *store) Close() error {
	s.closeIdle()
	return nil
}
