package sqsbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/sqsbus/internal/awsaccount"
)

// Config is the configuration of the scheme. The zero value works.
type Config struct {
	// Client is the application's own client, used instead of one for the URL's server. It
	// is not closed.
	Client *sqs.Client
	// SNS is the application's own client of SNS, only for sns:// and together with Client.
	SNS *sns.Client
	// Standard makes topics standard queues: more throughput, no order of keys, no
	// deduplication. FIFO queues by default. The URL's ?fifo=false wins.
	Standard bool
	// Prefix of the names of all queues and topics; none by default. The URL's ?prefix=P wins.
	Prefix string
	// Visibility is how long a killed process keeps the messages that it has received; 30 s
	// by default, whole seconds. The URL's ?visibility=D wins. It is extended each third of
	// it while handlers work: a shorter one costs requests.
	Visibility time.Duration
	// Wait is how long a request for messages stays open on an empty queue; 2 s by default,
	// whole seconds up to 20. The URL's ?wait=D wins. A longer one costs fewer requests,
	// and Close waits for it. Below a second it is the pause between requests that do not wait.
	Wait time.Duration
	// Retention of a queue that was not declared; 336 h (14 days, the most) by default. The
	// URL's ?retention=D wins. SQS deletes older messages whether they were read or not.
	Retention time.Duration
	// MaxBytes is the largest message, metadata included; 262,144 by default, which is also
	// the most on sns://. The URL's ?maxbytes=N wins. SQS accepts up to 1,048,576.
	MaxBytes int
	// Logger logs problems in the background; slog.Default() by default.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Visibility = cmp.Or(c.Visibility, 30*time.Second)
	c.Wait = cmp.Or(c.Wait, 2*time.Second)
	c.Retention = cmp.Or(c.Retention, maxRetention)
	c.MaxBytes = cmp.Or(c.MaxBytes, 256<<10)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

const (
	minRetention = time.Minute
	maxRetention = 14 * 24 * time.Hour
)

const (
	maxQueued   = 1 << 20   // the limit of a message in SQS, in bytes
	maxNotified = 256 << 10 // the limit of a message in SNS, in bytes
)

func (c Config) validate(notify bool) error {
	if notify && (c.Client == nil) != (c.SNS == nil) {
		return errors.New("one of Config.Client and Config.SNS is set; sns:// needs both, or neither")
	}
	for _, f := range []struct {
		name      string
		d         time.Duration
		low, high time.Duration
	}{
		{"visibility", c.Visibility, 2 * time.Second, 12 * time.Hour},
		{"retention", c.Retention, minRetention, maxRetention},
	} {
		if f.d < f.low || f.d > f.high || f.d%time.Second != 0 {
			return fmt.Errorf("the %s is %s; give whole seconds from %s to %s", f.name, f.d, f.low, f.high)
		}
	}
	if c.Wait < 10*time.Millisecond || c.Wait > 20*time.Second || (c.Wait > time.Second && c.Wait%time.Second != 0) {
		return fmt.Errorf("the wait is %s; give whole seconds up to 20s, or 10ms to 1s to ask that often", c.Wait)
	}
	most := maxQueued
	if notify {
		most = maxNotified
	}
	if c.MaxBytes < 1024 || c.MaxBytes > most {
		return fmt.Errorf("maxbytes is %d; give 1024 to %d", c.MaxBytes, most)
	}
	if !plainName(c.Prefix) {
		return fmt.Errorf("the prefix %.40q has characters that queue names cannot have; use A-Z, a-z, 0-9, - and _", c.Prefix)
	}
	return nil
}

// Scheme returns sqs://, Amazon SQS with FIFO or standard queues, and sns://, topics of Amazon
// SNS with a queue of SQS for each consumer group. Open sends no request to either; the first
// request, or [bus.Bus.Ping], reports wrong credentials.
//
//	sqs://eu-central-1                                    credentials as the AWS tools find them
//	sqs://eu-central-1/?fifo=false                        standard queues, without order
//	sqs://key:secret@elasticmq/?endpoint=http://host:9324 another server that speaks SQS
//	sns://eu-central-1?prefix=shop-
//	sns://key:secret@region/?endpoint=http://host:4566    another server that speaks SNS and SQS
//
// Parameters: session_token, role, external_id, endpoint, cacertfile (the PEM file of an
// authority to trust beside the system's, for an endpoint with TLS), fifo (true), prefix (none),
// visibility (30s), wait (2s), retention (336h), maxbytes (262144).
func Scheme(cfg Config) bus.Scheme { return scheme{cfg} }

type scheme struct{ cfg Config }

func (scheme) Names() []string { return []string{"sqs", "sns"} }

func (s scheme) Open(ctx context.Context, u *url.URL) (busdriver.Driver, error) {
	cfg, notify := s.cfg, u.Scheme == "sns"
	params := busdriver.NewParams(u)
	for _, name := range awsaccount.Parameters() {
		params.String(name, "") // known here, and read as part of the account
	}
	cfg.Standard = !params.Bool("fifo", !cfg.Standard)
	cfg.Prefix = params.String("prefix", cfg.Prefix)
	cfg.Visibility = params.Duration("visibility", cfg.Visibility)
	cfg.Wait = params.Duration("wait", cfg.Wait)
	cfg.Retention = params.Duration("retention", cfg.Retention)
	cfg.MaxBytes = params.Int("maxbytes", cfg.MaxBytes, 1)
	if err := params.Err(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(notify); err != nil {
		return nil, err
	}
	at, err := awsaccount.Of(u)
	if err != nil {
		return nil, err
	}
	return open(ctx, at, cfg, notify)
}
