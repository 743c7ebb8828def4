package kafkawatermill

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/IBM/sarama"
	wmkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/bus/watermillbus"
)

// Config is the configuration of the mode. The zero value works.
type Config struct {
	// Marshaler is that of the fleet; by default Watermill's DefaultMarshaler, with event.Key
	// as the record's key.
	Marshaler wmkafka.MarshalerUnmarshaler
	// Sarama changes the settings of Sarama's clients, such as Version. It comes last, so
	// it can break the mode's guarantees: all acknowledgements, one request in flight, the
	// earliest initial offset.
	Sarama func(*sarama.Config)
}

// Scheme returns kafka:// with ?mode=watermill beside the native transport. The mode uses
// these fields of native: Partitions, Replication, Retention, ClientID, SessionTimeout,
// CommitInterval, Token and Logger.
func Scheme(native kafkabus.Config, cfg Config) bus.Scheme {
	return watermillbus.WithMode(kafkabus.Scheme(native), without, func(ctx context.Context, u *url.URL) (busdriver.Driver, error) {
		return open(ctx, u, native, cfg)
	})
}

// without lists the parameters of kafka:// that have no meaning in this mode.
var without = map[string]string{
	"prefix":        "Watermill's names have none",
	"instance":      "Watermill's members have no static name",
	"window":        "a partition has one message in hand",
	"partitioner":   "Watermill's publisher hashes keys with FNV-1a",
	"session_token": "Sarama cannot sign in with sasl=aws-msk-iam",
}

func open(ctx context.Context, u *url.URL, native kafkabus.Config, cfg Config) (busdriver.Driver, error) {
	native.Logger = cmp.Or(native.Logger, slog.Default())
	to, err := addressOf(u, native)
	if err != nil {
		return nil, err
	}
	opened, err := kafkabus.Scheme(native).Open(ctx, u) // reports errors in the rest
	if err != nil {
		return nil, err
	}
	d, err := newDriver(opened, u, to, native, cfg)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return d, nil
}

// client are the settings that Watermill's publisher and subscriber share.
func client(to address) *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.V2_1_0_0 // the oldest version for Kafka 4; the first with zstd, which native members write
	c.ClientID = to.clientID
	c.Metadata.AllowAutoTopicCreation = false // topics are created as declared
	c.Metadata.Full = false
	c.Net.DialTimeout, c.Net.ReadTimeout, c.Net.WriteTimeout = 10*time.Second, 10*time.Second, 10*time.Second
	c.Net.TLS.Enable, c.Net.TLS.Config = to.tls != nil, to.tls
	to.signIn(c)
	return c
}

// publishing are the settings of the publisher.
func publishing(to address) *sarama.Config {
	c := client(to)
	c.Producer.RequiredAcks, c.Producer.Idempotent, c.Net.MaxOpenRequests = sarama.WaitForAll, true, 1
	c.Producer.Retry.Max, c.Producer.Return.Successes = 10, true
	// LZ4, because Watermill's default protocol, 1.0, has no zstd.
	c.Producer.Compression = sarama.CompressionLZ4
	c.Producer.MaxMessageBytes = 64 << 20 // the broker's limit decides; see alone
	return c
}

// consuming are the settings of subscribers.
func consuming(to address, native kafkabus.Config) *sarama.Config {
	c := client(to)
	c.Consumer.Return.Errors = true // Watermill reads them
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.IsolationLevel = sarama.ReadCommitted
	c.Consumer.Offsets.AutoCommit.Interval = cmp.Or(native.CommitInterval, 500*time.Millisecond)
	c.Consumer.Group.Session.Timeout = cmp.Or(native.SessionTimeout, c.Consumer.Group.Session.Timeout)
	c.Consumer.Group.Rebalance.Retry.Backoff, c.Consumer.Group.Rebalance.Retry.Max = 250*time.Millisecond, 30
	c.Consumer.Group.Heartbeat.Interval = c.Consumer.Group.Session.Timeout / 10
	return c
}
