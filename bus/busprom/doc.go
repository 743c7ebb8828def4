// Package busprom exports a bus, its consumers and its dead letters to Prometheus.
//
//	collector, err := busprom.New(busprom.Config{Bus: b, Lags: lags, Consumers: …, Status: …})
//	runner, err := bus.NewRunner(b, bus.RunnerConfig{Hooks: collector.Hooks()})
//	…
//	registry.MustRegister(collector)
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
//	every series is there from the start, at 0        TestEverySeriesFromTheStart
//	the series count correctly                        TestConsumersAreCounted, TestBatchesAreCounted
//	a publish that fails is counted                   TestFailedPublishesAreCounted
//	lag and dead letters are those of the transport   TestLagAndDeadLetters
//	a scrape queries no broker and shows its age      TestScrapeAsksNobody
//	values that a transport cannot tell are absent    TestTransportThatCannotTell
//
// Every series has the same name and meaning on every transport, so that dashboards and alerts
// survive a change of the transport. The series of the transport are the same in all processes,
// except for the age of each process's last answer: take the maximum. The series of the process
// are its own: add them up.
//
// Failure modes: while the transport does not answer, its values stay unchanged and
// millrace_consumer_lag_age_seconds grows, from the creation of the collector if the transport
// never answered. On a transport that can never tell its lag the first three series are absent,
// and so is millrace_dead_letters unless Config.DeadLetters is set.
package busprom
