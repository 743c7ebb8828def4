// Package queueprom shows a waiting room to Prometheus.
//
//	collector, err := queueprom.New(room, queueprom.Config{Events: []string{"show-1"}})
//	…
//	registry.MustRegister(collector)
//
//	series of the process                     meaning
//	millrace_queue_polls_total{source}        visits, by what answered: snapshot, store; refused got no answer
//	millrace_queue_foreign_tickets_total      tickets that were not of who brought them, or not of our keys
//	millrace_queue_store_calls_total          calls of the store
//	millrace_queue_store_errors_total         calls of the store that failed
//	millrace_queue_snapshot_refreshes_total   snapshots of lines that were brought up to date
//	millrace_queue_beats_total{outcome}       signs of life gathered from polls: sent, or lost and told again later
//	millrace_queue_admitted_total             people let in from lines by this process
//	millrace_queue_notices_total{outcome}     notices of admissions: published, dropped
//	millrace_queue_panics_total               panics of a store or of a notice that were caught
//	millrace_queue_events                     events that the process serves
//
//	series of an event                       meaning, over all processes
//	millrace_queue_waiting{event}            people in line
//	millrace_queue_active{event}             places taken: inside, or reserved
//	millrace_queue_reserved{event}           places of people who were let in and not seen yet
//	millrace_queue_threshold{event}          how many may be active
//	millrace_queue_paused{event}             1 while paused
//	millrace_queue_settling_seconds{event}   how long a room that lost its data gathers its line before it admits
//	millrace_queue_joined_total{event}       people who lined up or were let in at once
//	millrace_queue_entered_total{event}      people who were let in
//	millrace_queue_no_shows_total{event}     people who were let in and did not come
//	millrace_queue_expired_total{event}      people whose time inside was over
//	millrace_queue_departed_total{event}     people who left
//	millrace_queue_swept_total{event}        people who were removed from the line, not heard of
//
// The series of the process, and those of the events in Config.Events, are there
// from the start, at 0, the threshold at the room's (TestEverySeriesFromTheStart),
// and count what happened (TestCounts). The number of events is bounded
// (TestEventsAreBounded): event ids may come from who means ill.
//
// Each process shows its own counts: add them up. What is shown of an event is the
// same in all processes, as each saw it last: take the maximum, not the sum. The
// counts of an event begin again at 0 when its room is cleared or its store has
// lost its data, as after a restart.
package queueprom
