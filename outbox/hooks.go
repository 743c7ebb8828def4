package outbox

import "time"

// Hooks are called by a relay's own goroutines and must be quick; several may run at once. Any
// of them may be nil.
type Hooks struct {
	// Published is called for each event that the publisher confirmed, with the time since the
	// event was appended (the database's clock compared with this process's).
	Published func(shard int, topic string, latency time.Duration)
	// Failed is called for each failed attempt at an event; attempt is 0 if the publisher was
	// unreachable.
	Failed func(shard int, topic string, attempt int, err error)
	// Parked is called after an event was parked.
	Parked func(shard int, topic, messageID string, err error)
	// Hung is called when a Publish call has not returned within
	// RelayConfig.PublishTimeout, with the time since it began.
	Hung func(shard int, topic string, age time.Duration)
	// Round is called after each round that published or tried an event, with the round's
	// duration and the number of confirmed events.
	Round func(shard int, took time.Duration, published int)
	// Lease is called when this relay acquires or releases a shard.
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
	return h // Published stays nil: its caller then needs no clock
}
