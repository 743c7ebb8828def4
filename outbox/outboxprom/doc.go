// Package outboxprom exports metrics of an outbox and its relay to Prometheus.
//
//	monitor, err := outbox.NewMonitor(store, outbox.MonitorConfig{})
//	collector, err := outboxprom.New(outboxprom.Config{Monitor: monitor, Topics: …})
//	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{Hooks: collector.Hooks(outbox.Hooks{})})
//	…
//	registry.MustRegister(collector)
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
//	every series exists from the start, at 0            TestEverySeriesFromTheStart
//	they count the relay's work                         TestRelayIsCounted, TestFailuresAreCounted,
//	                                                    TestHungCallsAreCounted
//	a scrape queries no database; old values show it    TestScrapeAsksNobody
//	the oldest snapshot has an age and no label         TestOldestSnapshotIsShown
//	the number of topics is bounded                     TestTopicsAreBounded
//	other hooks are called as well                      TestHooksAreChained
//
// "From the start" covers the shards and topics of the Config; others appear when they are
// first seen. The latency compares the database's clock with this process's, and is never below
// 0.
//
// The values of the outbox are the same in all processes, as of each one's last answer: take
// the maximum. The values of the relay belong to each process: add them up.
//
// Failure modes: while the database does not answer, its values do not change and
// millrace_outbox_stats_age_seconds grows, from the start of the process if it never answered.
package outboxprom
