// Package bustest is the conformance suite of transports: every implementation of driver.Driver
// passes it, or declares the capability that rules a case out.
//
//	func TestConformance(t *testing.T) {
//		scheme := mybus.Scheme(mybus.Config{})
//		open := func(t *testing.T) *bus.Bus { … bus.Open(ctx, url of a fresh store, scheme) … }
//		bustest.Run(t, open,
//			bustest.Again(func(t *testing.T, b *bus.Bus) *bus.Bus { … the same store once more … }),
//			bustest.URL("my://host", scheme),
//			bustest.Absent(func(t *testing.T, address string) (b *bus.Bus, server string) { … my://address, a fresh store … }))
//	}
//
// It has two parts. The first is Watermill's own suite (pubsub/tests), one subtest for each of
// its functions, run through the dispatcher in front of every transport. The second is [Cases]:
// the guarantees of Millrace beyond that. Cases are functions that return an error and use the
// standard library only, so that they can also run against a deliberately broken driver; the
// tests of this package do that.
//
//	property                                                case
//	order per key, keys in parallel                         OrderPerKeyWithKeysInParallel
//	order across nack and redelivery                        OrderAcrossNackAndRetry
//	one unacknowledged message per key                      OneUnacknowledgedPerKey
//	messages without a key are one key                      KeylessIsOneKey
//	each group gets all messages                            GroupsEachGetAll
//	a group resumes where it stopped                        GroupResumesWhereItStopped
//	a new group starts at the earliest retained message     NewGroupStartsAtEarliest
//	acks out of order never skip a message                  OutOfOrderAcksNeverSkip
//	an orderly stop repeats no acknowledged message         AnOrderlyStopRepeatsNothing
//	an unacknowledged message is redelivered                UnacknowledgedIsRedeliveredAfterClose,
//	                                                        UnacknowledgedIsRedeliveredAfterContextEnd
//	the context that opens a source does not end it         AnOpenedSourceOutlivesItsContext
//	a declared group gets messages published earlier        DeclaredGroupGetsEverything
//	instances share a group and take over from each other   InstancesShareAGroup,
//	                                                        AnInstanceTakesOverWhereTheOtherStopped
//	a durable transport loses nothing when reopened         GroupSurvivesReopening
//	bytes and metadata arrive as they were sent             BytesAndMetadataRoundTrip
//	a closed bus refuses calls                              PublishAfterClose, CloseIsIdempotent
//	an ended context publishes nothing                      EndedContextPublishesNothing
//	opening does not dial; a server that is absent is
//	waited for                                              AnAbsentServerIsWaitedFor
//	no user can close the shared publisher                  PublisherCloseClosesNothing
//	an unknown URL parameter is an error that names it      UnknownParameter
//	lag and browsing are correct                            LagCountsDown, LagKnowsTheOldest,
//	                                                        BrowseConsumesNothing
//	a topic is found by name, and is not created by that    TopicsAreFound
//	shutdown lets handlers finish                           DrainOnShutdown
//	a poison message does not stop or reorder the rest      PoisonMessageIsDeadLettered
//	a message that fails as if a dependency were down
//	stops only its key                                      AMessageThatFailsAloneStopsOnlyItsKey
//	a dependency that is down costs no message              InfrastructurePauseLosesNothing,
//	                                                        DeadLetterThatCannotBePublishedPauses
//	batches fill, keep order, and fail in part              BatchesFillAndKeepOrder, BatchPartialFailure
//	low is held while high is behind                        PairHoldsLowWhileHighIsBehind
//	outdated events are skipped                             ObsoleteIsSkipped
//	dead letters can be redriven, edited and dropped, all
//	or some, by a tool that may be killed                   RedriveAll, RedriveSelected, RedriveAfterEdit,
//	                                                        RedriveBehindManyOfItsKey, RedriveDrop,
//	                                                        RedriveKilledLosesNothing
//	listing dead letters settles none                       RedriveDryRunTakesNothing
//
// A case that a capability rules out is listed in [RuledOut] and prints "n/a" with the reason.
// No other case is skipped: a skip inside Watermill's suite fails.
package bustest
