package kafkabus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
)

// Config is the configuration of the scheme. The zero value works. A URL's parameters win.
type Config struct {
	// Partitions of a topic that is declared or used without a number; 3 by default. They
	// are the most instances that can share a group, and each costs the brokers files and
	// memory. Changing their number later breaks the order of keys.
	Partitions int
	// Replication of such a topic; the brokers' own default.replication.factor by default.
	// 1 loses messages with the disk of one broker. With 3 or more, an acknowledged message
	// is on two brokers.
	Replication int
	// Retention of such a topic; the brokers' own by default (7 days unless
	// configured). A longer one costs disk space.
	Retention time.Duration

	// ClientID is the name of this program in the brokers' logs and quotas; "millrace" by default.
	ClientID string
	// Instance is a name that this process keeps over restarts and shares with no other
	// process. With it the group waits SessionTimeout for a process that went away, and
	// returns the same partitions to it. Empty by default: a process that leaves is
	// replaced at once.
	Instance string

	// PublishTimeout is how long Publish tries before it fails; 30 s by default. Until then
	// its messages wait in memory.
	PublishTimeout time.Duration
	// PublishBuffer is the limit in bytes of messages that wait in memory for their
	// acknowledgement; 32 MiB by default. Each message counts 500 bytes more than its size.
	// Publish blocks beyond the limit.
	PublishBuffer int

	// SessionTimeout is how long a killed process keeps its partitions; 10 s by default,
	// and brokers accept 6 s to 30 min unless configured. A process that is paused for
	// longer loses its partitions. With ?protocol=consumer the brokers'
	// group.consumer.session.timeout.ms applies instead, 45 s unless configured.
	SessionTimeout time.Duration
	// HandOverTimeout is how long a partition that moves to another instance waits for the
	// acknowledgement of messages in flight; 30 s by default. After that the contexts of
	// these messages end, and they are delivered to the other instance too.
	HandOverTimeout time.Duration
	// CommitInterval is how often acknowledgements are written; 500 ms by default. A crash
	// repeats that much. Each write costs a request per subscription.
	CommitInterval time.Duration
	// Window limits the unacknowledged messages of a subscription, regardless of its
	// consumer's settings; no limit by default. It bounds memory and the repetitions after a crash.
	Window int

	// Token returns the token of sasl=oauthbearer, if the URL has none. It is called for
	// each connection, and again before the end of a session that the broker limits. It has
	// 10 s, and a request that needs the connection waits for it.
	Token func(context.Context) (string, error)
	// AWS returns the keys of sasl=aws-msk-iam, if the URL has none; sessionToken is empty for
	// permanent keys. It is called as Token is. The credentials of the AWS SDK, for example:
	//
	//	func(ctx context.Context) (string, string, string, error) {
	//		c, err := awsConfig.Credentials.Retrieve(ctx)
	//		return c.AccessKeyID, c.SecretAccessKey, c.SessionToken, err
	//	}
	AWS func(ctx context.Context) (accessKey, secretKey, sessionToken string, err error)

	// Options may change the clients, for settings that have no parameter here. They come
	// last, so they override those of this package. Do not change the options behind the
	// guarantees: full acknowledgement, the idempotent producer, the isolation of committed
	// records, the earliest initial offset, commits of acknowledged messages only.
	Options []kgo.Opt
	// Logger logs problems in the background, once per change; slog.Default() by default.
	Logger *slog.Logger
}

func (c Config) validate() error {
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"Partitions", int64(c.Partitions)}, {"Retention", int64(c.Retention)},
		{"PublishTimeout", int64(c.PublishTimeout)}, {"PublishBuffer", int64(c.PublishBuffer)},
		{"SessionTimeout", int64(c.SessionTimeout)}, {"HandOverTimeout", int64(c.HandOverTimeout)},
		{"CommitInterval", int64(c.CommitInterval)}, {"Window", int64(c.Window)},
	} {
		if f.n < 0 {
			return fmt.Errorf("%s is negative; use 0 for the default", f.name)
		}
	}
	switch {
	case c.Partitions > 10_000:
		return fmt.Errorf("Partitions is %d; use at most 10000, each costs the brokers files and memory", c.Partitions)
	case c.Replication < brokersDefault || c.Replication > 1000:
		return fmt.Errorf("Replication is %d; use the number of copies to keep, such as 3, or -1 for the brokers' default", c.Replication)
	case c.SessionTimeout != 0 && c.SessionTimeout < time.Second:
		return fmt.Errorf("SessionTimeout is %v; use 1s or more, brokers take 6s and more unless configured", c.SessionTimeout)
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.Partitions = cmp.Or(c.Partitions, 3)
	c.Replication = cmp.Or(c.Replication, brokersDefault)
	c.ClientID = cmp.Or(c.ClientID, "millrace")
	c.PublishTimeout = cmp.Or(c.PublishTimeout, 30*time.Second)
	c.PublishBuffer = cmp.Or(c.PublishBuffer, 32<<20)
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 10*time.Second)
	c.HandOverTimeout = cmp.Or(c.HandOverTimeout, 30*time.Second)
	c.CommitInterval = cmp.Or(c.CommitInterval, 500*time.Millisecond)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// scheme opens kafka:// URLs.
type scheme struct{ cfg Config }

// brokersDefault is the number of copies in a request that leaves it to the brokers.
const brokersDefault = -1

// Scheme returns the scheme kafka://host:port,host:port/, whose parameters are
// in the package's documentation. The first use connects to a broker.
func Scheme(cfg Config) bus.Scheme { return scheme{cfg} }

func (scheme) Names() []string { return []string{"kafka"} }

func (s scheme) Open(_ context.Context, u *url.URL) (busdriver.Driver, error) {
	set, err := parse(u, s.cfg)
	switch {
	case err != nil:
		return nil, err
	case set.mode != "":
		return nil, errors.New("parameter \"mode\" needs the scheme of package bus/kafkabus/kafkawatermill; import it for mode=watermill, or leave the parameter out")
	}
	return open(set)
}

// settings combines a URL and a Config.
type settings struct {
	Config
	brokers   []string
	security  security
	partition partitioner

	prefix     string // of topics and groups in the cluster
	mode       string // empty for this package
	brokerside bool   // the brokers assign partitions (KIP-848)
	autocreate bool   // topics are created when they are used
	allGroups  bool   // Lag looks at every group of the cluster
}

func parse(u *url.URL, cfg Config) (settings, error) {
	var set settings
	brokers, err := kit.Hosts(u, "9092")
	switch {
	case err != nil:
		return set, err
	case u.Path != "" && u.Path != "/":
		return set, errors.New("a kafka URL has no path; topics are named where they are used")
	case u.Fragment != "":
		return set, errors.New("a kafka URL has no fragment; percent-encode # as %23")
	}
	p := busdriver.NewParams(u)
	cfg.Partitions = p.Int("partitions", cfg.Partitions, 1)
	cfg.Replication = p.Int("replication", cfg.Replication, brokersDefault)
	cfg.Retention = p.Duration("retention", cfg.Retention)
	cfg.Window = p.Int("window", cfg.Window, 1)
	cfg.ClientID = p.String("client_id", cfg.ClientID)
	cfg.Instance = p.String("instance", cfg.Instance)
	set.prefix = p.String("prefix", "")
	set.mode = p.String("mode", "")
	set.autocreate = p.Bool("autocreate", true)
	hash := p.String("partitioner", "fnv")
	lag := p.String("lag", "own")
	protocol := p.String("protocol", "classic")
	set.security = security{
		user: u.User, mechanism: p.String("sasl", ""),
		tokenFile: p.String("token_file", ""), sessionToken: p.String("session_token", ""), token: cfg.Token, aws: cfg.AWS,
	}
	if p.Bool("tls", false) {
		set.security.tls = p.TLS(nil, "ca", "cert", "key")
	} else if p.String("ca", "")+p.String("cert", "")+p.String("key", "") != "" {
		return set, errors.New("parameters \"ca\", \"cert\" and \"key\" need tls=true")
	}
	if err := p.Err(); err != nil {
		return set, err
	}
	if err := errors.Join(cfg.validate(), checkPrefix(set.prefix)); err != nil {
		return set, err
	}
	if set.partition, err = partitionerOf(hash); err != nil {
		return set, err
	}
	if lag != "own" && lag != "all" {
		return set, fmt.Errorf("parameter \"lag\" is %q; give own (the groups of this process) or all (every group of the cluster)", lag)
	}
	switch {
	case protocol != "classic" && protocol != "consumer":
		return set, fmt.Errorf("parameter \"protocol\" is %q; give classic (members share out partitions) or consumer (brokers do, from Kafka 4.0 on)", protocol)
	case protocol == "consumer" && cfg.Instance != "":
		return set, fmt.Errorf("parameter \"protocol\" is consumer with the instance %q, whose partitions the brokers would not give back after a crash; leave out one of them", cfg.Instance)
	}
	set.brokerside = protocol == "consumer"
	if err := set.security.validate(); err != nil {
		return set, err
	}
	set.Config, set.brokers, set.allGroups = cfg.withDefaults(), brokers, lag == "all"
	// Open and not the first use reports errors of the options.
	if err := kgo.ValidateOpts(set.options()...); err != nil {
		return set, fmt.Errorf("the client's options: %w", err)
	}
	return set, nil
}

// Client makes a client of franz-go for other uses, such as administration: it connects to
// the brokers of a kafka:// URL, and signs in and encrypts as the URL and cfg define.
// Making it connects to no broker. The caller closes it.
func Client(rawURL string, cfg Config) (*kgo.Client, error) {
	u, err := kit.ParseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("kafkabus: %w", err)
	}
	set, err := parse(u, cfg)
	if err != nil {
		return nil, fmt.Errorf("kafkabus: %w", kit.HideURL(err, rawURL))
	}
	return kgo.NewClient(set.options()...)
}
