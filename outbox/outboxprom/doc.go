// Package outboxprom shows an outbox and its relay to Prometheus.
//
//	monitor, err := outbox.NewMonitor(store, outbox.MonitorConfig{})
//	collector, err := outboxprom.New(outboxprom.Config{Monitor: monitor, Topics: …})
//	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{Hooks: collector.Hooks(outbox.Hooks{})})
//	…
//	registry.MustRegister(collector)
//	go monitor.Run(ctx)
//
//	series of the outbox, in all processes      meaning
//	millrace_outbox_backlog{shard}              events that wait, counted up to outbox.BacklogLimit
//	millrace_outbox_oldest_age_seconds{shard}   age of the oldest of them
//	millrace_outbox_aside{shard}                of them, those that stand aside so that others pass
//	millrace_outbox_failing{shard}              of them, those that have failed at least once
//	millrace_outbox_parked{shard}               events that were given up and wait for an operator
//	millrace_outbox_lease_taken{shard}          1 while some relay holds the shard
//	millrace_outbox_oldest_snapshot_seconds     age of the oldest snapshot on the database's server; 0
//	                                            where the store cannot tell
//	millrace_outbox_stats_age_seconds           how old all these figures are
//
//	series of this process's relay                   meaning
//	millrace_outbox_lease_held{shard}                1 while it holds the shard: by this you see which process does
//	millrace_outbox_published_total{topic}           events that the publisher confirmed
//	millrace_outbox_publish_latency_seconds{topic}   from append to confirmation
//	millrace_outbox_failed_total{topic}              attempts at an event that failed
//	millrace_outbox_unreachable_total                rounds that ended because the publisher was away
//	millrace_outbox_hung_total{shard}                Publish calls that did not return in time; each cost it the lease
//	millrace_outbox_parked_total{topic}              events that it gave up
//	millrace_outbox_round_duration_seconds{shard}    rounds that published or tried something
//	millrace_outbox_pruned_total{shard}              published events that it deleted
//
//	property                                            proven by
//	every series is there from the start, at 0          TestEverySeriesFromTheStart
//	they count what happened                            TestRelayIsCounted, TestFailuresAreCounted,
//	                                                    TestHungCallsAreCounted
//	a scrape asks no database; old figures say so       TestScrapeAsksNobody
//	the oldest snapshot has an age and no label         TestOldestSnapshotIsShown
//	the number of topics is bounded                     TestTopicsAreBounded
//	other hooks are called as well                      TestHooksAreChained
//
// "From the start" covers the shards and topics of the Config; others appear when
// they are first seen. The latency is by the database's clock against this
// process's, and never below 0.
//
// The figures of the outbox are the same in all processes, as each was told last:
// take the maximum. Those of the relay are each process's own: add them up.
//
// Failure modes: while the database does not answer, its figures stand still and
// millrace_outbox_stats_age_seconds grows, from the start of the process if it never did.
package outboxprom
