// Package metrics exports what the packages of this library count to Prometheus.
//
//	collector, err := metrics.New(limiter)
//	…
//	registry.MustRegister(collector)
//
// Each constructor makes a collector of one part; the caller registers it. Two parts of one kind
// in one registry need a label each, which the registerer adds:
//
//	artists := prometheus.WrapRegistererWith(prometheus.Labels{"limiter": "artists"}, registry)
//	artists.MustRegister(collector)
//
//	property                                           proven by
//	two parts with a label each are in one registry    TestTwoOfAKind
//
// A scrape reads values in memory: it queries no database, calls no store and asks no broker. Each
// process exports its own counts: add them up. Series that are the same in all processes are named
// below: take their maximum.
//
// # An outbox and its relay
//
//	monitor, err := outbox.NewMonitor(store, outbox.MonitorConfig{})
//	collector, hooks, err := metrics.NewOutbox(metrics.OutboxConfig{Monitor: monitor, Topics: …})
//	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{Hooks: hooks})
//	go monitor.Run(ctx)
//
//	series of the outbox, in all processes      meaning
//	millrace_outbox_backlog{shard}              events that wait, counted up to driver.BacklogLimit
//	millrace_outbox_oldest_age_seconds{shard}   age of the oldest of them
//	millrace_outbox_aside{shard}                of them, those that are deferred so that others pass
//	millrace_outbox_failing{shard}              of them, those that have failed at least once
//	millrace_outbox_parked{shard}               events that are parked and wait for an operator
//	millrace_outbox_lease_taken{shard}          1 while some relay holds the shard
//	millrace_outbox_oldest_snapshot_seconds     age of the oldest snapshot on the database's server; 0
//	                                            if the store cannot find it
//	millrace_outbox_stats_age_seconds           age of all these values
//
//	series of this process's relay                   meaning
//	millrace_outbox_lease_held{shard}                1 while this process holds the shard
//	millrace_outbox_published_total{topic}           events that the publisher confirmed
//	millrace_outbox_publish_latency_seconds{topic}   from append to confirmation
//	millrace_outbox_failed_total{topic}              attempts at an event that failed
//	millrace_outbox_unreachable_total                rounds that ended because the publisher was unreachable
//	millrace_outbox_hung_total{shard}                Publish calls that did not return in time; each lost the lease
//	millrace_outbox_parked_total{topic}              events that this relay parked
//	millrace_outbox_round_duration_seconds{shard}    rounds that published or tried an event
//	millrace_outbox_pruned_total{shard}              published events that this relay deleted
//
//	property                                            proven by
//	every series exists from the start, at 0            TestOutboxEverySeriesFromTheStart
//	they count the relay's work                         TestOutboxRelayIsCounted, TestOutboxFailuresAreCounted,
//	                                                    TestOutboxHungCallsAreCounted
//	a scrape queries no database; old values show it    TestOutboxScrapeAsksNobody
//	the oldest snapshot has an age and no label         TestOutboxOldestSnapshotIsShown
//	the number of topics is bounded                     TestOutboxTopicsAreBounded
//	other hooks are called as well                      TestOutboxHooksAreChained
//
// "From the start" covers the shards and topics of the OutboxConfig; others appear when they are
// first seen. The latency compares the database's clock with this process's, and is never below
// 0.
//
// The values of the outbox are the same in all processes, as of each one's last answer: take
// the maximum. The values of the relay belong to each process: add them up.
//
// Failure modes: while the database does not answer, its values do not change and
// millrace_outbox_stats_age_seconds grows, from the start of the process if it never answered.
//
// # A bus, its consumers and its dead letters
//
//	collector, hooks, err := metrics.NewBus(metrics.BusConfig{Bus: b, Lags: lags, Consumers: …, Status: …})
//	runner, err := bus.NewRunner(b, bus.RunnerConfig{Hooks: hooks})
//	go lags.Run(ctx)
//
//	series of the transport                      meaning, for all processes
//	millrace_consumer_lag{topic,group}           messages that wait for a group
//	millrace_consumer_lag_seconds{topic,group}   age of the oldest of them, as far as known
//	millrace_consumer_lag_age_seconds            age of these values
//	millrace_dead_letters{topic}                 dead letters not yet redriven or dropped
//
//	series of this process                                    meaning
//	millrace_bus_published_total                              messages that were published
//	millrace_bus_publish_failed_total                         messages of calls that failed
//	millrace_consumer_handled_total{topic,group}              messages handled successfully
//	millrace_consumer_retried_total{topic,group}              attempts that failed and were or will be repeated
//	millrace_consumer_dead_lettered_total{topic,group}        dead letters published
//	millrace_consumer_obsolete_total{topic,group}             messages skipped because there is a newer one
//	millrace_consumer_ignored_total{topic,group}              messages skipped because their type has no handler
//	millrace_consumer_batches_total{topic,group}              batches handed over
//	millrace_consumer_pauses_total{topic,group}               pauses because a dependency was down
//	millrace_consumer_paused{topic,group}                     1 while the consumer is paused
//	millrace_consumer_in_flight{topic,group}                  messages that are being handled
//	millrace_consumer_overdue{topic,group}                    handlers still at work 5 s after their Timeout
//	millrace_consumer_overdue_seconds{topic,group}            since the oldest overdue handler began
//	millrace_consumer_handler_duration_seconds{topic,group}   runs of a handler: of one message, or of one batch
//
//	property                                          proven by
//	every series is there from the start, at 0        TestBusEverySeriesFromTheStart
//	the series count correctly                        TestBusConsumersAreCounted, TestBusBatchesAreCounted
//	a publish that fails is counted                   TestBusFailedPublishesAreCounted
//	lag and dead letters are those of the transport   TestBusLagAndDeadLetters
//	a scrape queries no broker and shows its age      TestBusScrapeAsksNobody
//	values that a transport cannot tell are absent    TestBusTransportThatCannotTell
//
// Every series has the same name and meaning on every transport, so that dashboards and alerts
// survive a change of the transport. The series of the transport are the same in all processes,
// except for the age of each process's last answer: take the maximum. The series of the process
// are its own: add them up.
//
// Failure modes: while the transport does not answer, its values stay unchanged and
// millrace_consumer_lag_age_seconds grows, from the creation of the collector if the transport
// never answered. On a transport that can never tell its lag the first three series are absent,
// and so is millrace_dead_letters unless BusConfig.DeadLetters is set.
//
// # Idempotency guards, leases and HTTP middlewares
//
//	collector, err := metrics.NewIdempotency(metrics.IdempotencyConfig{Guards: …, Leases: …, HTTP: …})
//
//	series                                             meaning, of this process
//	millrace_idempotency_events_total{group,outcome}   events of guards: handled, duplicate, failed
//	millrace_idempotency_claims_total{group,outcome}   claims of leases and of HTTP requests: claimed, done (a duplicate),
//	                                                   taken (another worker holds it), mismatched (another request), failed
//	millrace_idempotency_leases_lost_total{group}      claims that were lost while the work went on, whose effect may
//	                                                   have happened twice
//
//	property                                    proven by
//	every series exists from the start, at 0    TestIdempotencyEverySeriesFromTheStart
//	they count events and claims                TestIdempotencyGuardsAreCounted, TestIdempotencyClaimsAreCounted
//	guards of one group are summed              TestIdempotencyGuardsAreCounted
//
// An event whose transaction is rolled back after the guard is
// delivered again, and counts again.
//
// # A coalescer
//
//	collector, err := metrics.New(coalescer)
//
//	millrace_coalesce_hit_total             requests for a key that was being refreshed already
//	millrace_coalesce_upgrade_total         requests that took over from low priority
//	millrace_coalesce_lock_conflict_total   tickets that did not hold their lock any more
//	millrace_coalesce_obsolete_total        events that a newer version made obsolete
//
//	property                                           proven by
//	every series exists from the start, at 0           TestCoalesceCollector
//	the values are those of coalesce.Stats             TestCoalesceCollector
//
// # A counter
//
//	collector, err := metrics.New(comments)
//
//	series                                             meaning, of this process
//	millrace_counter_adds_total{counter,outcome}       additions: ok, failed (a Source corrects the totals)
//	millrace_counter_rounds_total{counter,outcome}     rounds of Run and Flush: ok, standby, failed
//	millrace_counter_batches_total{counter}            transactions that updated totals
//	millrace_counter_rows_total{counter}               change rows, or deltas, in these
//	millrace_counter_repeated_batches_total{counter}   batches that had been applied already
//	millrace_counter_discarded_deltas_total{counter}   deltas dropped because their rows are applied
//
//	property                                     proven by
//	every series exists from the start, at 0     TestCountersEverySeriesFromTheStart
//	they count adds, rounds and batches          TestCountersCounts
//	counters of two names are in one registry    TestCountersOfTwoNames
//
// # A rate limiter
//
//	collector, err := metrics.New(limiter)
//
//	series                                                  meaning
//	millrace_rate_limiter_acquired_total{priority}          calls granted to this process
//	millrace_rate_limiter_rejected_total{priority,reason}   calls refused; reason is global, low_cap, yield,
//	                                                        low_share, day, unavailable
//	millrace_rate_limiter_returned_total                    calls granted and given back
//	millrace_rate_limiter_store_calls_total                 calls of the store
//	millrace_rate_limiter_rps                               calls granted to this process within the last second
//	millrace_rate_limiter_tokens{priority}                  calls that a priority could have at once: high those of the
//	                                                        shared bucket, low the lesser of those and of its cap
//	millrace_rate_limiter_tokens_age_seconds                age of these values, as this process saw them
//	millrace_rate_limiter_day_used                          calls of the day's budget that are used
//	millrace_rate_limiter_waiting{priority}                 waiting callers
//	millrace_rate_limiter_circuit_breaker_state             0 closed, 1 half-open, 2 open
//
// Every series exists from the start, at 0 (TestRateLimitEverySeriesFromTheStart). The tests of the
// counts are TestRateLimitCounts, TestRateLimitEveryReason and TestRateLimitRateAndTokens. Each process counts for itself;
// add the counts up. Tokens and the day are as of the process's last call, whose age is
// exported: a process that makes no calls exports old values.
//
// # A keyed limiter
//
//	collector, err := metrics.New(limiter)
//
//	series                                       meaning
//	millrace_keyed_limiter_calls_total{result}   calls of all keys; result is allowed or refused
//	millrace_keyed_limiter_alone_total           those that this process decided without the shared store:
//	                                             while it rises, each process allows a key its whole limit
//
// Every series exists from the start, at 0, and no key is a label (TestKeyedCounts). Each process
// counts for itself; add the counts up.
//
// # A hub of streams
//
//	collector, err := metrics.New(hub)
//
//	millrace_sse_streams                    streams that are open
//	millrace_sse_members                    members with a stream
//	millrace_sse_rooms                      rooms with a stream
//	millrace_sse_leased                     1 while the cap lets streams open
//	millrace_sse_hearing                    1 while the broker delivers events of all processes
//	millrace_sse_opened_total               streams
//	millrace_sse_ended_total{reason}        streams
//	millrace_sse_victims_total              streams of any process evicted for one opened here
//	millrace_sse_refused_total{reason}      requests without a stream: outage, evicted
//	millrace_sse_events_total{outcome}      events: sent, muted, duplicate, replayed
//	millrace_sse_writes_total               writes to clients
//	millrace_sse_written_bytes_total        bytes in them
//	millrace_sse_published_total{outcome}   messages to the broker: published, dropped
//	millrace_sse_gaps_total                 times that the broker may have lost messages
//	millrace_sse_ghosts_total               entries without a stream that were removed
//	millrace_sse_left_over_total            entries that wait for the end of their lifetime
//	millrace_sse_store_errors_total         calls of the cap that failed
//
// All series exist from the start, at 0 (TestSSEAllSeriesAreThereFromTheStart), and no counter
// goes down (TestSSECountersNeverGoDown). Set alerts on
// millrace_sse_leased at 0 for longer than a lease, on dropped messages, and on many
// of millrace_sse_ended_total{reason="slow"} beside few opened.
//
// # A waiting room
//
//	collector, err := metrics.NewQueue(room, metrics.QueueConfig{Events: []string{"show-1"}})
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
//	millrace_queue_stock_calls_total{outcome} calls of queue.Config.Stock: answered, failed
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
// The series of the process, and those of the events in QueueConfig.Events, exist from
// the start, at 0, the threshold at the room's (TestQueueEverySeriesFromTheStart), and
// count correctly (TestQueueCounts). The number of events is bounded
// (TestQueueEventsAreBounded), since attackers may make up event ids.
//
// Each process exports its own counts: add them up. The series of an event are the
// same in all processes, as each saw them last: take the maximum, not the sum. The
// counts of an event begin again at 0 when its room is cleared or its store has
// lost its data, as after a restart.
package metrics
