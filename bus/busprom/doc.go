// Package busprom shows a bus, its consumers and its dead letters to Prometheus.
//
//	collector, err := busprom.New(busprom.Config{Bus: b, Lags: lags, Consumers: …, Status: …})
//	runner, err := bus.NewRunner(b, bus.RunnerConfig{Hooks: collector.Hooks()})
//	…
//	registry.MustRegister(collector)
//	go lags.Run(ctx)
//
//	series of the transport                      meaning, for all processes
//	millrace_consumer_lag{topic,group}           messages that wait for a group
//	millrace_consumer_lag_seconds{topic,group}   age of the oldest of them, as far as the transport knows it
//	millrace_consumer_lag_age_seconds            how old these figures are
//	millrace_dead_letters{topic}                 dead letters that nobody has redriven or dropped
//
//	series of this process                                    meaning
//	millrace_bus_published_total                              messages that were published
//	millrace_bus_publish_failed_total                         messages of calls that failed
//	millrace_consumer_handled_total{topic,group}              messages handled successfully
//	millrace_consumer_retried_total{topic,group}              attempts that failed and were or will be repeated
//	millrace_consumer_dead_lettered_total{topic,group}        dead letters published
//	millrace_consumer_obsolete_total{topic,group}             messages skipped because a newer one counts
//	millrace_consumer_ignored_total{topic,group}              messages skipped because their type has no handler
//	millrace_consumer_batches_total{topic,group}              batches handed over
//	millrace_consumer_pauses_total{topic,group}               times it paused because a dependency was down
//	millrace_consumer_paused{topic,group}                     1 while it is paused
//	millrace_consumer_in_flight{topic,group}                  messages that are being handled
//	millrace_consumer_overdue{topic,group}                    handlers that go on 5 s after their Timeout
//	millrace_consumer_overdue_seconds{topic,group}            since the oldest overdue handler began
//	millrace_consumer_handler_duration_seconds{topic,group}   runs of a handler: of one message, or of one batch
//
//	property                                          proven by
//	every series is there from the start, at 0        TestEverySeriesFromTheStart
//	they count what happened                          TestConsumersAreCounted, TestBatchesAreCounted
//	a publish that fails is counted                   TestFailedPublishesAreCounted
//	lag and dead letters are those of the transport   TestLagAndDeadLetters
//	a scrape asks no broker; old figures say so       TestScrapeAsksNobody
//	what a transport cannot tell is not shown as 0    TestTransportThatCannotTell
//
// Every series has the same name and meaning on every transport, so that dashboards and
// alerts survive a change of the transport. The series of the transport are the same in
// all processes, as each process was told last: take the maximum. The series of the
// process are its own: add them up.
//
// Failure modes: while the transport does not answer, its figures stand still and
// millrace_consumer_lag_age_seconds grows, from the making of the collector if the
// transport never answered. Over a transport that can never tell its lag the first three series are
// absent, and millrace_dead_letters too unless Config.DeadLetters tells it.
package busprom
