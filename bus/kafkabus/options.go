package kafkabus

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

const (
	dialTimeout = 5 * time.Second
	// The limit of one request, beyond the time for which the broker itself waits.
	requestTimeout = 10 * time.Second
	// How long brokers wait for the in-sync replicas of one produce request.
	replicaTimeout = 5 * time.Second
	// A batch is cut at this size before compression, so that even incompressible messages
	// stay below the brokers' message.max.bytes (1 MiB).
	batchBytes = 960 << 10
)

// again is the client's backoff before it repeats a request.
var again = kit.Backoff{Initial: 20 * time.Millisecond, Max: time.Second, Jitter: 0.2}

// options are those of every client. A new client connects to no broker.
func (s settings) options() []kgo.Opt {
	all := append([]kgo.Opt{
		kgo.SeedBrokers(s.brokers...),
		kgo.ClientID(s.ClientID),
		kgo.DisableClientMetrics(),
		kgo.DialTimeout(dialTimeout),
		kgo.RequestTimeoutOverhead(requestTimeout),
		kgo.RetryTimeout(requestTimeout),
		kgo.RetryBackoffFn(again.Delay),
		kgo.MetadataMinAge(100 * time.Millisecond),
	}, s.security.options()...)
	return append(all, s.Options...)
}
