// Package busprom shows a bus, its consumers and its dead letters to Prometheus.
//
//	collector, err := busprom.New(busprom.Config{Bus: b, Lags: lags, Consumers: …, Status: …})
//	runner, err := bus.NewRunner(b, bus.RunnerConfig{Hooks: collector.Hooks()})
//	…
//	registry.MustRegister(collector)
//	go lags.Run(ctx)
//
//	series of the transport                           meaning, for all processes
//	kafka_consumer_lag{topic,group}                   messages that wait for a group, on whichever transport
//	kafka_consumer_lag_seconds{topic,group}           age of the oldest of them, as far as the transport knows it
//	kafka_consumer_lag_age_seconds                    how old these figures are
//	dlq_message_count{topic}                          dead letters that nobody has redriven or dropped
//
//	series of this process                            meaning
//	kafka_producer_sent_total                         messages that were published, on whichever transport
//	kafka_producer_send_failed_total                  messages of calls that failed
//	consumer_handled_total{topic,group}               messages handled successfully
//	consumer_retried_total{topic,group}               attempts that failed and were or will be repeated
//	consumer_dead_lettered_total{topic,group}         dead letters published
//	consumer_obsolete_total{topic,group}              messages skipped because a newer one counts
//	consumer_batches_total{topic,group}               batches handed over
//	consumer_pauses_total{topic,group}                times it paused because a dependency was down
//	consumer_paused{topic,group}                      1 while it is paused
//	consumer_in_flight{topic,group}                   messages that are being handled
//	consumer_handler_duration_seconds{topic,group}    runs of a handler: of one message, or of one batch
//
//	property                                          proven by
//	every series is there from the start, at 0        TestEverySeriesFromTheStart
//	they count what happened                          TestConsumersAreCounted, TestBatchesAreCounted
//	a publish that fails is counted                   TestFailedPublishesAreCounted
//	lag and dead letters are those of the transport   TestLagAndDeadLetters
//	a scrape asks no broker; old figures say so       TestScrapeAsksNobody
//	what a transport cannot tell is not shown as 0    TestTransportThatCannotTell
//
// The names that begin with kafka_ are the same over every transport, so that a
// dashboard outlives a change of it. The series of the transport are the same in all
// processes, as each was told last: take the maximum. Those of the process are its
// own: add them up.
//
// Failure modes: while the transport does not answer, its figures stand still and
// kafka_consumer_lag_age_seconds grows, from the making of the collector if it never
// did. Over a transport that can never tell its lag the first three series are
// absent, and dlq_message_count too unless Config.DeadLetters tells it.
package busprom
