package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/queue"
)

// QueueConfig is the configuration of [NewQueue]. The zero value works.
type QueueConfig struct {
	// Events have their series from the start, at 0, before any visitor comes.
	Events []string
	// MaxEvents is how many events have series of their own, those with the most
	// people; 100 by default. Each costs 17 series.
	MaxEvents int
	// Notices counts the published admissions, such as a queuenotice.Notices; none
	// by default, which shows 0.
	Notices interface {
		Counts() (published, dropped int64)
	}
}

// queueCollector is a [prometheus.Collector] of one room. A scrape reads the counts of
// the room, and does not ask its store.
type queueCollector struct {
	room *queue.Room
	cfg  QueueConfig

	polls, tickets, calls, errs, refreshes, beats, admitted, notices, panics, events, stocks *prometheus.Desc
	waiting, active, returning, entitled, threshold, stock, held, paused, settling, servers  *prometheus.Desc
	joined, entered, noShows, expired, departed, swept, returned                             *prometheus.Desc
}

var _ prometheus.Collector = (*queueCollector)(nil)

// NewQueue creates a collector of a waiting room; the caller registers it.
func NewQueue(room *queue.Room, cfg QueueConfig) (prometheus.Collector, error) {
	switch {
	case room == nil:
		return nil, errors.New("metrics: the room is nil; make one with queue.New")
	case cfg.MaxEvents < 0:
		return nil, fmt.Errorf("metrics: QueueConfig.MaxEvents is %d; give at least 1, or 0 for 100", cfg.MaxEvents)
	}
	cfg.Events = slices.Clone(cfg.Events)
	if cfg.MaxEvents == 0 {
		cfg.MaxEvents = 100
	}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("millrace_queue_"+name, help, variable, nil)
	}
	return &queueCollector{
		room: room, cfg: cfg,
		polls:     desc("polls_total", "Visits of this process, by what answered them.", "source"),
		tickets:   desc("foreign_tickets_total", "Tickets that were not of who brought them, or not of our keys."),
		calls:     desc("store_calls_total", "Calls of the store by this process."),
		errs:      desc("store_errors_total", "Calls of the store by this process that failed."),
		refreshes: desc("snapshot_refreshes_total", "Snapshots of lines that this process brought up to date."),
		beats:     desc("beats_total", "Signs of life that this process gathered from polls.", "outcome"),
		admitted:  desc("admitted_total", "People that this process let in from lines."),
		notices:   desc("notices_total", "Notices of admissions by this process.", "outcome"),
		panics:    desc("panics_total", "Panics of a store or of a notice that were caught."),
		events:    desc("events", "Events that this process serves."),
		stocks:    desc("stock_calls_total", "Calls of Config.Stock by this process.", "outcome"),

		waiting:   desc("waiting", "People in line.", "event"),
		active:    desc("active", "Places taken.", "event"),
		returning: desc("returning", "Waiting people who came back to a kept place.", "event"),
		entitled:  desc("entitled", "Waiting people whose turn has come, without a place yet.", "event"),
		threshold: desc("threshold", "How many may be active.", "event"),
		stock:     desc("stock", "How many users the event can still serve; -1 while that is not known.", "event"),
		held:      desc("held_by_stock", "Whether the stock admits fewer of the waiting users than the threshold: 1, else 0.", "event"),
		paused:    desc("paused", "Whether an operator has paused the room: 1, else 0.", "event"),
		settling:  desc("settling_seconds", "How long a room that lost its data gathers its line before it admits.", "event"),

		servers: desc("servers", "How many servers have kept the room, a restart being another; 0 where the store cannot tell.", "event"),

		joined:   desc("joined_total", "People who lined up or were let in at once, in all processes.", "event"),
		entered:  desc("entered_total", "People who were let in, in all processes.", "event"),
		noShows:  desc("no_shows_total", "People who were let in and did not come, in all processes.", "event"),
		expired:  desc("expired_total", "People whose time inside was over, in all processes.", "event"),
		departed: desc("departed_total", "People who left, in all processes.", "event"),
		swept:    desc("swept_total", "People who were removed from the line, not heard of, in all processes.", "event"),
		returned: desc("returned_total", "People who came back to a kept place, in all processes.", "event"),
	}, nil
}

// Describe implements [prometheus.Collector].
func (c *queueCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.polls, c.tickets, c.calls, c.errs, c.refreshes, c.beats, c.admitted, c.notices, c.panics, c.events, c.stocks,
		c.waiting, c.active, c.returning, c.entitled, c.threshold, c.stock, c.held, c.paused, c.settling, c.servers,
		c.joined, c.entered, c.noShows, c.expired, c.departed, c.swept, c.returned,
	} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *queueCollector) Collect(out chan<- prometheus.Metric) {
	s := c.room.Stats()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		send(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		send(d, prometheus.GaugeValue, n, labels...)
	}
	count(c.polls, s.Snapshot, "snapshot")
	count(c.polls, s.Store, "store")
	count(c.polls, s.Refused, "refused")
	count(c.tickets, s.Tickets)
	count(c.calls, s.Calls)
	count(c.errs, s.Failed)
	count(c.refreshes, s.Refreshes)
	count(c.beats, s.Beats, "sent")
	count(c.beats, s.BeatsLost, "lost")
	count(c.admitted, s.Admitted)
	var published, dropped int64
	if c.cfg.Notices != nil {
		published, dropped = c.cfg.Notices.Counts()
	}
	count(c.notices, published, "published")
	count(c.notices, dropped, "dropped")
	count(c.panics, s.Panics)
	gauge(c.events, float64(len(s.Events)))
	count(c.stocks, s.Stock-s.NoStock, "answered")
	count(c.stocks, s.NoStock, "failed")
	for _, event := range c.shown(s) {
		state := queue.State{Threshold: s.Threshold}
		if served, ok := s.Events[event]; ok {
			state = served
		}
		gauge(c.waiting, float64(state.Waiting), event)
		gauge(c.active, float64(state.Active), event)
		gauge(c.returning, float64(state.Returning), event)
		gauge(c.entitled, float64(state.Entitled), event)
		gauge(c.threshold, float64(state.Threshold), event)
		stock := -1.0
		if state.Stock.Known {
			stock = float64(state.Stock.Left)
		}
		gauge(c.stock, stock, event)
		gauge(c.held, map[bool]float64{true: 1}[state.HeldByStock()], event)
		gauge(c.paused, map[bool]float64{true: 1}[state.Paused], event)
		gauge(c.settling, state.Settling.Seconds(), event)
		gauge(c.servers, float64(state.Servers), event)
		count(c.joined, state.Joined, event)
		count(c.entered, state.Entered, event)
		count(c.noShows, state.NoShows, event)
		count(c.expired, state.Expired, event)
		count(c.departed, state.Departed, event)
		count(c.swept, state.Swept, event)
		count(c.returned, state.Returned, event)
	}
}

// shown are the events that have series: the configured ones, then those with the
// most people.
func (c *queueCollector) shown(s queue.Stats) []string {
	shown := slices.Compact(slices.Sorted(slices.Values(c.cfg.Events)))
	rest := slices.DeleteFunc(slices.Collect(maps.Keys(s.Events)), func(event string) bool {
		_, named := slices.BinarySearch(shown, event)
		return named
	})
	people := func(event string) int { return s.Events[event].Waiting + s.Events[event].Active }
	slices.SortFunc(rest, func(a, b string) int {
		return cmp.Or(cmp.Compare(people(b), people(a)), cmp.Compare(a, b))
	})
	return append(shown, rest[:max(0, min(len(rest), c.cfg.MaxEvents-len(shown)))]...)
}
