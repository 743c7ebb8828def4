package sqsbus_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/sourcetest"
	"github.com/millrace-go/millrace/internal/transporttest/snstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is a part of a server for one test, by a prefix of names.
type place struct {
	url, prefix string
	endpoint    string
	suffix      string // of queues
	client      *sqs.Client
	sns         *snstest.Server // of sns:// only
}

// standard is the place with standard queues.
func (p place) standard() place {
	p.url, p.suffix = p.url+"&fifo=false", ""
	return p
}

// eachKind runs a test on a place with FIFO queues and on one with standard queues, at the
// same time: such a test mostly waits for the server.
func eachKind(t *testing.T, run func(t *testing.T, p place)) {
	t.Run("fifo", func(t *testing.T) {
		t.Parallel()
		run(t, newPlace(t))
	})
	t.Run("standard", func(t *testing.T) {
		t.Parallel()
		run(t, newPlace(t).standard())
	})
}

// newSNSPlace makes a place with a stand-in for SNS, which serves SQS too.
func newSNSPlace(t testing.TB) place {
	t.Helper()
	p := newPlace(t)
	server, endpoint := snstest.Start(t, p.endpoint)
	p.url = "sns" + strings.TrimPrefix(strings.Replace(p.url, url.QueryEscape(p.endpoint), url.QueryEscape(endpoint), 1), "sqs")
	p.sns, p.endpoint = server, endpoint
	return p
}

// newPlace makes a place. Its queues are deleted at the test's end.
func newPlace(t testing.TB) place {
	t.Helper()
	endpoint := servicetest.SQS(t)
	p := place{prefix: "t" + uuid.NewString()[:8] + "-", endpoint: endpoint, suffix: ".fifo"}
	p.url = "sqs://key:secret@elasticmq/?" + url.Values{
		"endpoint": {endpoint}, "prefix": {p.prefix}, "wait": {"50ms"},
	}.Encode()
	transport := &http.Transport{}
	p.client = sqs.New(sqs.Options{
		BaseEndpoint: &endpoint, Region: "elasticmq", HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	t.Cleanup(func() {
		defer transport.CloseIdleConnections()
		ctx := context.Background()
		all, err := p.client.ListQueues(ctx, &sqs.ListQueuesInput{QueueNamePrefix: &p.prefix})
		if err != nil {
			t.Errorf("list the test's queues: %v", err)
			return
		}
		for _, queue := range all.QueueUrls {
			_, err := p.client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &queue})
			assert.NoError(t, err, "delete %s", queue)
		}
	})
	return p
}

var (
	publish = sourcetest.Publish
	keyed   = sourcetest.Keyed
	receive = sourcetest.Receive
)

func open(t testing.TB, cfg sqsbus.Config, url string) *bus.Bus {
	t.Helper()
	b, err := tryOpen(cfg, url)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close(), "close")
	})
	return b
}

func tryOpen(cfg sqsbus.Config, url string) (*bus.Bus, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return bus.Open(context.Background(), url, sqsbus.Scheme(cfg))
}

func subscribe(t testing.TB, b *bus.Bus, group, topic string, window int) (<-chan *message.Message, message.Subscriber) {
	t.Helper()
	sub := sourcetest.Subscriber(b.Driver(), group, window)
	ch, err := sub.Subscribe(context.WithoutCancel(t.Context()), topic)
	require.NoError(t, err)
	t.Cleanup(func() { sub.Close() })
	return ch, sub
}
