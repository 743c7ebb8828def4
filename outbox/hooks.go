package outbox

import "time"

// Hooks are called by a relay's own goroutines and must be quick; several may
// run at once. Any of them may be nil.
type Hooks struct {
	// Published is called for each event that the publisher confirmed, with the
	// time since it was appended (by the database's clock against this process's).
	Published func(shard int, topic string, latency time.Duration)
	// Failed is called for each failed attempt at an event, and attempt 0 when
	// the publisher could not be reached at all.
	Failed func(shard int, topic string, attempt int, err error)
	// Parked is called after an event was given up.
	Parked func(shard int, topic, messageID string, err error)
	// Hung is called when a Publish call has not returned within
	// RelayConfig.PublishTimeout, with the time since it began.
	Hung func(shard int, topic string, age time.Duration)
	// Round is called after each round that published or tried something, with
	// its duration and how many events it confirmed.
	Round func(shard int, took time.Duration, published int)
	// Lease is called when this relay gets or gives up a shard.
	Lease func(shard int, held bool)
	// Pruned is called after old events were deleted.
	Pruned func(shard, n int)
}

func (h Hooks) withDefaults() Hooks {
	if h.Failed == nil {
		h.Failed = func(int, string, int, error) {}
	}
	if h.Parked == nil {
		h.Parked = func(int, string, string, error) {}
	}
	if h.Hung == nil {
		h.Hung = func(int, string, time.Duration) {}
	}
	if h.Round == nil {
		h.Round = func(int, time.Duration, int) {}
	}
	if h.Lease == nil {
		h.Lease = func(int, bool) {}
	}
	if h.Pruned == nil {
		h.Pruned = func(int, int) {}
	}
	return h // Published stays nil: its caller spares the clock
}
