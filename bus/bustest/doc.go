// Package bustest is the conformance suite of transports: whatever implements
// bus.Driver passes it, or says which capability rules a case out.
//
//	func TestConformance(t *testing.T) {
//		scheme := mybus.Scheme(mybus.Config{})
//		opener := bus.NewOpener(scheme)
//		open := func(t *testing.T) *bus.Bus { … opener.Open(ctx, url of a fresh store) … }
//		bustest.Run(t, open,
//			bustest.Again(func(t *testing.T, b *bus.Bus) *bus.Bus { … the same store once more … }),
//			bustest.URL(opener, "my://host"),
//			bustest.Absent(func(t *testing.T, address string) (b *bus.Bus, server string) { … my://address, a fresh store … }))
//	}
//
// It has two parts. The first is Watermill's own suite (pubsub/tests), one
// subtest for each of its functions, run through the dispatcher that stands
// before every transport. The second is [Cases]: what Millrace promises beyond
// that, as functions that return an error and use the standard library only, so
// that they can be run against a deliberately broken driver as well; the tests
// of this package do that.
//
//	property                                                case
//	order per key, keys in parallel                         OrderPerKeyWithKeysInParallel
//	order across nack and redelivery                        OrderAcrossNackAndRetry
//	one unacknowledged message per key                      OneUnacknowledgedPerKey
//	messages without a key are one key                      KeylessIsOneKey
//	each group gets everything                              GroupsEachGetAll
//	a group goes on where it stopped                        GroupResumesWhereItStopped
//	a new group starts at the earliest retained message     NewGroupStartsAtEarliest
//	acks out of order never skip a message                  OutOfOrderAcksNeverSkip
//	an orderly stop repeats nothing that was acknowledged   AnOrderlyStopRepeatsNothing
//	what was not acknowledged comes again                   UnacknowledgedIsRedeliveredAfterClose,
//	                                                        UnacknowledgedIsRedeliveredAfterContextEnd
//	a declared group gets what is published before it reads DeclaredGroupGetsEverything
//	instances share a group and take over from each other   InstancesShareAGroup,
//	                                                        AnInstanceTakesOverWhereTheOtherStopped
//	a durable transport forgets nothing when reopened       GroupSurvivesReopening
//	bytes and metadata arrive as they were sent             BytesAndMetadataRoundTrip
//	what is closed refuses                                  PublishAfterClose, CloseIsIdempotent
//	an ended context publishes nothing                      EndedContextPublishesNothing
//	opening does not dial; a server that is absent is
//	waited for                                              AnAbsentServerIsWaitedFor
//	nobody closes what is shared                            PublisherCloseClosesNothing
//	an unknown URL parameter is an error that names it      UnknownParameter
//	lag and browsing tell the truth                         LagCountsDown, LagKnowsTheOldest,
//	                                                        BrowseConsumesNothing
//	a topic is found by name, and a question makes none     TopicsAreFound
//	shutdown lets handlers finish                           DrainOnShutdown
//	a poison message does not stop or reorder the rest      PoisonMessageIsDeadLettered
//	a message that fails as if a dependency were down
//	stops only its key                                      AMessageThatFailsAloneStopsOnlyItsKey
//	a dependency that is down costs no message              InfrastructurePauseLosesNothing,
//	                                                        DeadLetterThatCannotBePublishedPauses
//	batches fill, keep order, and fail in part              BatchesFillAndKeepOrder, BatchPartialFailure
//	low gives way while high is behind                      PairHoldsLowWhileHighIsBehind
//	what is out of date is skipped                          ObsoleteIsSkipped
//	dead letters can be redriven, edited and dropped, all
//	or some, by a tool that may be killed                   RedriveAll, RedriveSelected, RedriveAfterEdit,
//	                                                        RedriveDrop, RedriveKilledLosesNothing
//	looking at dead letters settles none                    RedriveDryRunTakesNothing
//
// A case that a capability rules out stands in [RuledOut] and prints "n/a" with
// the reason. Nothing else is skipped: a skip inside Watermill's suite fails.
package bustest
