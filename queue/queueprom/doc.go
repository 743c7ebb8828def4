// Package queueprom exports the metrics of a waiting room to Prometheus.
//
//	collector, err := queueprom.New(room, queueprom.Config{Events: []string{"show-1"}})
//	…
//	registry.MustRegister(collector)
//
//	series of the process                     meaning
//	millrace_queue_polls_total{source}        polls, by the source of the answer: snapshot, store; refused got no answer
//	millrace_queue_foreign_tickets_total      tickets of another user, or not of our keys
//	millrace_queue_store_calls_total          calls of the store
//	millrace_queue_store_errors_total         calls of the store that failed
//	millrace_queue_snapshot_refreshes_total   snapshots of lines that were brought up to date
//	millrace_queue_beats_total{outcome}       signs of life from polls: sent, or lost and sent again later
//	millrace_queue_admitted_total             users admitted from lines by this process
//	millrace_queue_notices_total{outcome}     notices of admissions: published, dropped
//	millrace_queue_panics_total               panics of a store or of a notice that were caught
//	millrace_queue_events                     events that the process serves
//	millrace_queue_stock_calls_total{outcome} calls of Config.Stock: answered, failed
//
//	series of an event                       meaning, over all processes
//	millrace_queue_waiting{event}            users in line
//	millrace_queue_active{event}             places taken
//	millrace_queue_returning{event}          waiting users that came back to a kept place
//	millrace_queue_entitled{event}           waiting users whose turn has come, without a place yet
//	millrace_queue_threshold{event}          how many may be active
//	millrace_queue_stock{event}              how many users the event can still serve; -1 while that is not known
//	millrace_queue_held_by_stock{event}      1 while users wait and the stock admits fewer of them than the threshold
//	millrace_queue_paused{event}             1 while paused
//	millrace_queue_settling_seconds{event}   how long a room that lost its data waits for its line before it admits
//	millrace_queue_servers{event}            servers that have kept the room, one after the other, a restart being another;
//	                                         0 where the store cannot tell: then a promotion may cost places
//	millrace_queue_joined_total{event}       users lined up or admitted at once
//	millrace_queue_entered_total{event}      users admitted
//	millrace_queue_no_shows_total{event}     admitted users without a poll in time
//	millrace_queue_expired_total{event}      users whose time inside ended
//	millrace_queue_departed_total{event}     users gone by leaving
//	millrace_queue_swept_total{event}        users removed from the line, without a sign of life
//	millrace_queue_returned_total{event}     users that came back to a kept place
//
// The series of the process, and those of the events in Config.Events, exist from
// the start, at 0, the threshold at the room's (TestEverySeriesFromTheStart), and
// count correctly (TestCounts). The number of events is bounded
// (TestEventsAreBounded), since attackers may make up event ids.
//
// Each process exports its own counts: add them up. The series of an event are the
// same in all processes, as each saw them last: take the maximum, not the sum. The
// counts of an event begin again at 0 when its room is cleared or its store has
// lost its data, as after a restart.
package queueprom
