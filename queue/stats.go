package queue

import "sync/atomic"

// Stats are the counts of a room, read without a call of its store.
type Stats struct {
	// Events are the events this process serves as they were last seen, at most
	// Config.MaxEvents. The counts of a State are of all processes together.
	Events map[string]State

	// The rest are counts of this process since the room was made, over all events.
	Snapshot  int64 // polls answered from a snapshot
	Store     int64 // visits answered by the store
	Refused   int64 // visits that got no answer
	Tickets   int64 // tickets that were not of their user and event, or not of our keys
	Calls     int64 // of the store
	Failed    int64 // of these
	Refreshes int64 // of the snapshot
	Beats     int64 // signs of life that the store has got
	BeatsLost int64 // that did not reach it; the next poll tells them again
	Stock     int64 // calls of Config.Stock that have ended, or did not in time
	NoStock   int64 // answers of it that failed or did not come in time
	// Threshold is that of an event whose operator has set none.
	Threshold int
	// Panics are those of stores and of Config.Notify that were caught.
	Panics int64
	// Admitted are the turns that Room.Run gave in this process.
	Admitted int64
}

type counts struct {
	snapshot, store, refused, tickets, calls, failed, refreshes, beats, beatsLost, stockKnown, stockFailed, panics, admitted atomic.Int64
}

// Stats reads the counts.
func (r *Room) Stats() Stats {
	events := make(map[string]State)
	r.lines.Range(func(key, value any) bool {
		event := State{Threshold: r.cfg.Threshold}
		if state := value.(*line).state.Load(); state != nil {
			event = *state
		}
		events[key.(string)] = event
		return true
	})
	c := &r.counts
	s := Stats{
		Events: events, Threshold: r.cfg.Threshold,
		Snapshot: c.snapshot.Load(), Store: c.store.Load(), Refused: c.refused.Load(), Tickets: c.tickets.Load(),
		Calls: c.calls.Load(), Failed: c.failed.Load(), Refreshes: c.refreshes.Load(), Beats: c.beats.Load(), BeatsLost: c.beatsLost.Load(),
		NoStock: c.stockFailed.Load(), Panics: c.panics.Load(), Admitted: c.admitted.Load(),
	}
	s.Stock = c.stockKnown.Load() + s.NoStock
	return s
}
