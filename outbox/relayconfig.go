package outbox

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/outbox/driver"
)

// Ordering decides which events wait for a failing event.
type Ordering uint8

const (
	// Strict makes all events behind a failing event of the shard wait for it; events of other
	// keys in the same batch may have passed.
	Strict Ordering = iota + 1
	// ByKey defers a failing event and the later events of its key, so that other keys pass.
	// They are published in their order once the first succeeds.
	ByKey
)

// Backoff is the growth of the time between two attempts: from Initial by Multiplier up to Max,
// each ± the fraction Jitter.
type Backoff struct {
	Initial    time.Duration // 1 s when zero
	Max        time.Duration // 30 s when zero
	Multiplier float64       // 2 when zero
	Jitter     float64       // 0 to 1; 0.2 when zero, negative for none
}

func (b Backoff) policy() backoff.Policy {
	p := backoff.Policy{Initial: b.Initial, Max: b.Max, Multiplier: b.Multiplier, Jitter: b.Jitter}
	if p.Max == 0 {
		p.Max = max(30*time.Second, p.Initial)
	}
	if p.Jitter == 0 {
		p.Jitter = 0.2
	}
	return p
}

// RelayConfig configures a [Relay]. The zero value works.
type RelayConfig struct {
	// Ordering, when zero, is Strict on a cursor store and ByKey on a status store.
	Ordering Ordering
	// Interval is how long an idle shard waits before it looks again without a wake-up, and how
	// often a standby tries for a lease; 1 s when zero, 50 ms at least. Each look is one
	// statement per shard.
	Interval time.Duration
	// MaxBatch bounds how many events of a shard are published and not settled; 5000 when zero. A
	// crash publishes them again. At least MinBatch are read at once, 100 when zero, and half of
	// MaxBatch at most while the publisher takes its time.
	MinBatch, MaxBatch int
	// MaxBatchBytes bounds the payload of a batch, by the average of the last
	// read; 8 MiB when zero. A shard holds up to two batches in memory.
	MaxBatchBytes int
	// Lanes is how many keys are published in parallel, per shard; 16 when zero. Set 1 for a
	// transport that writes each call in its own transaction, because there a few large calls
	// are cheaper than many small ones. For a long backlog into Kafka, Lanes 2, Chunk 5000 and
	// MaxBatch 10,000 are fastest.
	Lanes int
	// Chunk is how many messages go into one Publish call at most; 100 when zero. A call has
	// fewer if that many would take half of PublishTimeout. Set 1 for a publisher whose failed
	// call may have published a later message but not an earlier one.
	Chunk int

	// PublishTimeout is how long a Publish call may take; 30 s when zero. After it, the relay
	// cancels the messages of the call, releases the shard's lease and goes on without the
	// call, see Failure modes in the package's doc. It tries for the lease again once the call
	// has returned. Messages that the call publishes later may arrive twice, so set
	// PublishTimeout above the time that a slow publisher takes for Chunk messages.
	PublishTimeout time.Duration
	// Retry is the backoff of a failing event.
	Retry Backoff
	// Pause is the backoff of a shard when the publisher's error is classified as
	// infrastructure, or the database fails.
	Pause Backoff
	// MaxAge is how long an event may fail while others are published before it is parked;
	// 5 min when zero, negative for no limit. An event whose error is classified permanent is
	// parked at its first attempt, regardless of MaxAge and MaxRetries.
	MaxAge time.Duration
	// MaxRetries is the number of failed retries after which an event is parked, regardless of
	// its age. When zero, 3 on a status store and unbounded on a cursor store; negative for
	// unbounded. Like the age, a retry counts only while the publisher works. A cursor store
	// keeps the count in memory, so the count starts at 0 with each lease.
	MaxRetries int
	// DeadLetter names the topic to which a copy of an event is published before the event is
	// parked, "" for none. When nil, the topic is the event's topic and ".DLT" on a status
	// store, and none on a cursor store. The publisher must know the topic.
	DeadLetter func(topic string) string
	// MaxAside bounds how many events of a shard are deferred under ByKey; 10,000 when zero. At
	// the bound the shard waits as under Strict.
	MaxAside int
	// Classifiers classify the publisher's errors that have no [fault.Class].
	Classifiers []fault.Classifier

	// LeaseTTL is how long a lease is valid without renewal; 10 s when zero. It is renewed
	// after a third of that time. A crash delays a shard by up to LeaseTTL.
	LeaseTTL time.Duration
	// MaxShards bounds how many shards this relay holds at a time; all when zero.
	// Set it to spread shards over instances.
	MaxShards int
	// Holder names this relay in its leases; host, process and a random part when empty. Two
	// relays must not have the same name.
	Holder string
	// ShutdownTimeout is how long Run continues with the batch in flight, and with storing what
	// was published, after its context is done; 30 s when zero. Then Run begins no further
	// Publish call and cancels the contexts of the messages in flight. Calls that do not return
	// within a second after that are abandoned, and Run returns an error that names the publisher.
	// Calls of the store end with it, too.
	ShutdownTimeout time.Duration

	// Retention is how long published events are kept; 24 h when zero, negative for ever.
	Retention time.Duration
	// PruneInterval is the interval between two prunings, and PruneChunk the number of events
	// that one statement deletes; 1 min and 1000 when zero.
	PruneInterval time.Duration
	PruneChunk    int

	// Hooks report the relay's work, for metrics.
	Hooks Hooks
	// TracerProvider makes a "send" span for each Publish call, with a link to the context of
	// each event; no spans when nil. It costs decoding the events. SDKs keep 128 links of a
	// span by default: raise their limit to Chunk.
	TracerProvider trace.TracerProvider
	// System is the messaging.system of those spans, such as kafka or rabbitmq;
	// millrace_outbox when empty.
	System string
	// Logger receives failures, see Logs in the package's doc; slog.Default() when nil. To
	// disable the logs, pass slog.New(slog.DiscardHandler).
	Logger *slog.Logger
}

func (c RelayConfig) validate() error {
	if c.Ordering > ByKey {
		return fmt.Errorf("outbox: RelayConfig.Ordering is %d; use Strict or ByKey", c.Ordering)
	}
	if c.Interval != 0 && c.Interval < 50*time.Millisecond {
		return fmt.Errorf("outbox: RelayConfig.Interval is %v; use 50ms or more, wake-ups make up for the wait", c.Interval)
	}
	for _, f := range []struct {
		name string
		n    int
	}{
		{"MinBatch", c.MinBatch}, {"MaxBatch", c.MaxBatch}, {"MaxBatchBytes", c.MaxBatchBytes},
		{"Lanes", c.Lanes}, {"Chunk", c.Chunk}, {"MaxAside", c.MaxAside}, {"MaxShards", c.MaxShards},
		{"PruneChunk", c.PruneChunk}, {"LeaseTTL", int(c.LeaseTTL)}, {"PublishTimeout", int(c.PublishTimeout)},
		{"ShutdownTimeout", int(c.ShutdownTimeout)}, {"PruneInterval", int(c.PruneInterval)},
	} {
		if f.n < 0 {
			return fmt.Errorf("outbox: RelayConfig.%s is negative; use 0 for the default", f.name)
		}
	}
	d := c.withDefaults()
	if d.MinBatch > d.MaxBatch {
		return fmt.Errorf("outbox: RelayConfig.MinBatch is %d, above MaxBatch %d; lower it", d.MinBatch, d.MaxBatch)
	}
	if c.LeaseTTL != 0 && c.LeaseTTL < 100*time.Millisecond {
		return fmt.Errorf("outbox: RelayConfig.LeaseTTL is %v; use 100ms or more", c.LeaseTTL)
	}
	for name, b := range map[string]Backoff{"Retry": c.Retry, "Pause": c.Pause} {
		if b.Initial < 0 || b.Max < 0 || b.Multiplier < 0 || b.Jitter > 1 {
			return errors.New("outbox: RelayConfig." + name + " has a negative value or a Jitter above 1; use 0 for the defaults")
		}
	}
	return nil
}

// prefer sets the zero fields to the store's defaults.
func (c RelayConfig) prefer(p driver.Preferences) RelayConfig {
	if c.Ordering == 0 && p.ByKey {
		c.Ordering = ByKey
	}
	if c.MaxRetries == 0 {
		c.MaxRetries = p.MaxRetries
	}
	if c.DeadLetter == nil {
		c.DeadLetter = p.DeadLetter
	}
	return c
}

func (c RelayConfig) withDefaults() RelayConfig {
	setInt := func(p *int, n int) {
		if *p == 0 {
			*p = n
		}
	}
	setTime := func(p *time.Duration, d time.Duration) {
		if *p == 0 {
			*p = d
		}
	}
	if c.Ordering == 0 {
		c.Ordering = Strict
	}
	if c.DeadLetter == nil {
		c.DeadLetter = func(string) string { return "" }
	}
	setTime(&c.Interval, time.Second)
	setInt(&c.MaxBatch, 5000)
	setInt(&c.MinBatch, min(100, c.MaxBatch))
	setInt(&c.MaxBatchBytes, 8<<20)
	setInt(&c.Lanes, 16)
	setInt(&c.Chunk, 100)
	setTime(&c.PublishTimeout, 30*time.Second)
	setTime(&c.MaxAge, 5*time.Minute)
	setInt(&c.MaxAside, 10_000)
	setTime(&c.LeaseTTL, 10*time.Second)
	setTime(&c.ShutdownTimeout, 30*time.Second)
	setTime(&c.Retention, 24*time.Hour)
	setTime(&c.PruneInterval, time.Minute)
	setInt(&c.PruneChunk, 1000)
	if c.System == "" {
		c.System = ownSystem
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// holder returns a name for this process that no other relay has.
func holder() (string, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("outbox: make a holder's name: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // the random part distinguishes relays
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), id.String()[:8]), nil
}
