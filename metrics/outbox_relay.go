package metrics

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/outbox"
)

// otherTopic is the topic of all events beyond MaxTopics topics.
const otherTopic = "other"

// outboxRelay counts the calls of the hooks.
type outboxRelay struct {
	maxTopics int

	published, failed, parked, pruned, hung *prometheus.CounterVec
	unreachable                             prometheus.Counter
	latency, round                          *prometheus.HistogramVec
	held                                    *prometheus.GaugeVec

	mu     sync.RWMutex
	topics map[string]topicSeries
}

// topicSeries holds the series of one topic, looked up once: the hook Published is called for each
// event.
type topicSeries struct {
	published, failed, parked prometheus.Counter
	latency                   prometheus.Observer
}

func newOutboxRelay(cfg OutboxConfig) *outboxRelay {
	counter := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "millrace_outbox_" + name, Help: help}, []string{label})
	}
	histogram := func(name, help, label string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "millrace_outbox_" + name, Help: help, Buckets: cfg.Buckets,
		}, []string{label})
	}
	r := &outboxRelay{
		maxTopics: cfg.MaxTopics, topics: map[string]topicSeries{},
		published: counter("published_total", "Events that this process's relay published.", "topic"),
		failed:    counter("failed_total", "Attempts at an event that failed.", "topic"),
		parked:    counter("parked_total", "Events that this process's relay gave up.", "topic"),
		pruned:    counter("pruned_total", "Published events that this process's relay deleted.", "shard"),
		hung:      counter("hung_total", "Publish calls that did not return in time; each cost this process the shard's lease.", "shard"),
		unreachable: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millrace_outbox_unreachable_total", Help: "Rounds that ended because the publisher was away.",
		}),
		latency: histogram("publish_latency_seconds", "From the append of an event to its confirmation by the publisher.", "topic"),
		round:   histogram("round_duration_seconds", "Rounds that published or tried something.", "shard"),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_outbox_lease_held", Help: "1 while this process's relay holds the shard.",
		}, []string{"shard"}),
	}
	for shard := range cfg.Shards {
		name := strconv.Itoa(shard)
		r.held.WithLabelValues(name)
		r.pruned.WithLabelValues(name)
		r.hung.WithLabelValues(name)
		r.round.WithLabelValues(name)
	}
	for _, name := range cfg.Topics {
		r.topic(name)
	}
	return r
}

func (r *outboxRelay) each(do func(prometheus.Collector)) {
	for _, c := range []prometheus.Collector{r.published, r.failed, r.parked, r.pruned, r.hung, r.unreachable, r.latency, r.round, r.held} {
		do(c)
	}
}

// topic returns the series of a topic, or of "other" beyond MaxTopics.
func (r *outboxRelay) topic(name string) topicSeries {
	r.mu.RLock()
	t, ok := r.topics[name]
	r.mu.RUnlock()
	if ok {
		return t
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.topics[name]; ok {
		return t
	}
	if len(r.topics) >= r.maxTopics {
		if t, ok := r.topics[otherTopic]; ok {
			return t
		}
		name = otherTopic
	}
	t = topicSeries{r.published.WithLabelValues(name), r.failed.WithLabelValues(name), r.parked.WithLabelValues(name), r.latency.WithLabelValues(name)}
	r.topics[name] = t
	return t
}

// hooks returns hooks that count a relay's work and call next.
func (r *outboxRelay) hooks(next outbox.Hooks) outbox.Hooks {
	return outbox.Hooks{
		Published: func(shard int, name string, latency time.Duration) {
			t := r.topic(name)
			t.published.Inc()
			t.latency.Observe(max(0, latency.Seconds()))
			if next.Published != nil {
				next.Published(shard, name, latency)
			}
		},
		Failed: func(shard int, name string, attempt int, err error) {
			if attempt == 0 {
				r.unreachable.Inc()
			} else {
				r.topic(name).failed.Inc()
			}
			if next.Failed != nil {
				next.Failed(shard, name, attempt, err)
			}
		},
		Parked: func(shard int, name, id string, err error) {
			r.topic(name).parked.Inc()
			if next.Parked != nil {
				next.Parked(shard, name, id, err)
			}
		},
		Hung: func(shard int, name string, age time.Duration) {
			r.hung.WithLabelValues(strconv.Itoa(shard)).Inc()
			if next.Hung != nil {
				next.Hung(shard, name, age)
			}
		},
		Round: func(shard int, took time.Duration, published int) {
			r.round.WithLabelValues(strconv.Itoa(shard)).Observe(took.Seconds())
			if next.Round != nil {
				next.Round(shard, took, published)
			}
		},
		Lease: func(shard int, held bool) {
			value := 0.0
			if held {
				value = 1
			}
			r.held.WithLabelValues(strconv.Itoa(shard)).Set(value)
			if next.Lease != nil {
				next.Lease(shard, held)
			}
		},
		Pruned: func(shard, n int) {
			r.pruned.WithLabelValues(strconv.Itoa(shard)).Add(float64(n))
			if next.Pruned != nil {
				next.Pruned(shard, n)
			}
		},
	}
}
