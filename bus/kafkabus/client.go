package kafkabus

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"
	"github.com/rcrowley/go-metrics"
)

const (
	dialTimeout = 5 * time.Second
	// How long one request may take, beyond what the broker waits for itself.
	requestTimeout = 10 * time.Second
	// How long brokers wait for the in-sync replicas of one produce request.
	replicaTimeout = 5 * time.Second
	// A batch is cut when it holds this much before compression, so that even
	// what does not compress stays below the brokers' message.max.bytes (1 MiB).
	batchBytes = 960 << 10
)

// client returns the configuration of every client.
func (s settings) client() (*sarama.Config, error) {
	c := sarama.NewConfig()
	// Brokers of 2.4 and newer, 4.x included; requests are made in the version
	// that the broker offers.
	c.Version = sarama.V3_2_0_0
	c.ClientID = s.ClientID
	c.MetricRegistry = noMetrics{}
	c.Net.DialTimeout, c.Net.ReadTimeout, c.Net.WriteTimeout = dialTimeout, requestTimeout, requestTimeout
	c.Metadata.Full = false
	c.Metadata.AllowAutoTopicCreation = false
	c.Metadata.RefreshFrequency = 5 * time.Minute
	c.Metadata.Timeout = requestTimeout
	c.Admin.Timeout = requestTimeout

	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Idempotent = true
	c.Net.MaxOpenRequests = 1
	c.Producer.Compression = sarama.CompressionZSTD
	c.Producer.Timeout = replicaTimeout
	c.Producer.MaxMessageBytes = batchBytes

	c.Consumer.IsolationLevel = sarama.ReadCommitted // others may publish in transactions, and abort them
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = true // of what was marked, see partition
	c.Consumer.Offsets.AutoCommit.Interval = s.CommitInterval
	c.Consumer.Return.Errors = true
	c.Consumer.MaxWaitTime = 250 * time.Millisecond // also how soon a partition can be let go
	c.Consumer.Retry.Backoff = 250 * time.Millisecond
	c.Consumer.Group.Session.Timeout = s.SessionTimeout
	c.Consumer.Group.Heartbeat.Interval = min(time.Second, s.SessionTimeout/3)
	c.Consumer.Group.Rebalance.Timeout = s.HandOverTimeout + 15*time.Second
	c.Consumer.Group.Rebalance.Retry.Backoff = 250 * time.Millisecond
	c.Consumer.Group.Rebalance.Retry.Max = 10
	c.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyCooperativeSticky()}

	if err := s.security.apply(c); err != nil {
		return nil, err
	}
	if s.Sarama != nil {
		s.Sarama(c)
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("the client's configuration: %w", err)
	}
	return c, nil
}

// member returns the configuration of a member of a group.
func (s settings) member(instance string) (*sarama.Config, error) {
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	c.Consumer.Group.InstanceId = instance
	// A join is answered when all members have come, which takes up to the
	// rebalance timeout.
	c.Net.ReadTimeout = max(c.Net.ReadTimeout, c.Consumer.Group.Rebalance.Timeout+requestTimeout)
	return c, c.Validate()
}

// dial connects a client. The client's own calls know no context, so it is left
// alone when ctx ends first: it gives up by itself.
func dial(ctx context.Context, brokers []string, c *sarama.Config) (sarama.Client, error) {
	type dialed struct {
		client sarama.Client
		err    error
	}
	done := make(chan dialed, 1)
	go func() {
		client, err := sarama.NewClient(brokers, c)
		done <- dialed{client, err}
	}()
	select {
	case d := <-done:
		return d.client, d.err
	case <-ctx.Done():
		go func() {
			if d := <-done; d.err == nil {
				d.client.Close() //nolint:errcheck // nobody is left to hear of it
			}
		}()
		return nil, ctx.Err()
	}
}

// noMetrics is a registry that counts nothing. Sarama's own would start a
// goroutine that nobody can end.
type noMetrics struct{}

func (noMetrics) Each(func(string, any)) {}
func (noMetrics) Get(string) any         { return nil }
func (noMetrics) GetOrRegister(_ string, metric any) any {
	switch metric := metric.(type) {
	case func() metrics.Meter:
		return metrics.NilMeter{}
	case func() metrics.Histogram:
		return metrics.NilHistogram{}
	case func() metrics.Counter:
		return metrics.NilCounter{}
	default:
		return metric
	}
}
func (noMetrics) Register(string, any) error        { return nil }
func (noMetrics) RunHealthchecks()                  {}
func (noMetrics) GetAll() map[string]map[string]any { return nil }
func (noMetrics) Unregister(string)                 {}
func (noMetrics) UnregisterAll()                    {}
