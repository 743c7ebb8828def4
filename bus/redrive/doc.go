// Package redrive looks after dead letters on any transport of package bus: it
// lists and shows them, replaces a payload, publishes them to their original
// topic again, or drops them. Nothing is redriven by itself.
//
//	letters, err := redrive.New(b, "dlq.payment", redrive.Config{})
//	listing, err := letters.List(ctx, redrive.Filter{Reason: "API_5XX"}, 100)
//	err = letters.Edit(ctx, id, payload)
//	result, err := letters.Redrive(ctx, redrive.Filter{IDs: ids}, redrive.Options{Rate: 50})
//	result, err = letters.Drop(ctx, redrive.Filter{All: true}, redrive.Options{DryRun: true})
//
// # What is promised
//
//	property                                                      proven by
//	a redriven message is the original: id, bytes, metadata, and
//	dlq_redrive, which counts from 1                              TestARedrivenMessageIsTheOriginal
//	what is not chosen stays pending, wherever it stands          TestRedriveSelected, TestFilters,
//	                                                              TestASelectionBeyondTheWindow
//	listing, showing and a dry run settle nothing                 TestListSettlesNothing, TestShow
//	a tool that is killed at any step loses nothing; what it had
//	done may be done again                                        TestKilledAtAnyStepLosesNothing
//	after a cancellation the rest is pending                      TestRateProgressAndCancellation
//	what fails again waits for the next pass                      TestWhatFailsAgainWaitsForTheNextPass
//	a letter that lies there twice is redriven once               TestListSettlesNothing,
//	                                                              TestLettersOfTwoGroupsAreOneMessage
//	an edit keeps id and key, and what was an event stays one     TestEdit
//	an edit is not lost beside its original                       TestAnEditIsNotLostBesideItsOriginal
//	a letter that cannot be redriven keeps nobody                 TestALetterThatCannotBeRedrivenStaysAndKeepsNobody
//	two passes at once lose nothing                               TestTwoPassesAtOnce
//
// Package bustest checks the same on every transport.
//
// # How it works
//
// A consumer group of its own, bus.RedriveGroup, reads the dead letter topic:
// pending is what that group has not acknowledged. bus.Runner declares it with
// every dead letter topic, so that on a queue it exists before the first letter;
// on a log a new group starts at the earliest letter that is retained. Its lag is
// the number of dead letters that wait for somebody, on any dashboard.
//
// A letter is published before it is acknowledged. Redriving everything streams.
// Most transports remember only the longest prefix that was acknowledged, so to
// take letters from the middle, those before them that are not chosen are put to
// the end of the topic first: published again with the same id, and acknowledged.
// That changes the order of pending letters and nothing else. A transport with
// the capability IndividualAcks needs no such move.
//
// A pass ends when it has seen as many letters as the transport counted when it
// began, and nothing older than that comes any more. A message that the consumer
// gives up again meanwhile is recognised by dlq_redrive and left alone.
//
// A redriven message reaches all groups of its topic, since a topic cannot be
// published to one group. Those that have handled it know its id and do nothing:
// that is what package idempotency is for. It comes behind newer messages of its
// key; order per key does not hold for redriven messages.
//
// Metadata whose name begins with dlq_ is reserved for dead letters and does not
// come back with a redriven message.
//
// # Failure modes
//
//   - A tool that is killed between a publish and the acknowledgement leaves the
//     letter pending although it was redriven, or twice in the topic although it
//     was only moved. Doing it again is harmless to idempotent consumers; List
//     shows a letter once.
//   - Two passes over one topic share the group, as two consumers do: each sees
//     the partitions it holds, or one waits for the other. Each letter is done by
//     one of them, or by both when one takes over from the other; neither skips
//     any for good. Result.Complete is false for the one that saw a part only.
//   - After a killed tool, the next one waits up to Config.Wait for the transport
//     to give it the place.
//   - A transport whose count of pending letters is too high, as a queue's can be
//     for a while, makes a pass wait for Config.Wait at its end.
//   - Letters are retained as bus.RunnerConfig.DeadLetterRetention says: on Kafka
//     they are gone after it; the SQL logs and mem:// keep what is pending however
//     old it is.
//   - Without bus.Pender, List reads up to Config.Window letters and hands them
//     back, which takes a consumer group's joining time, counts as a delivery
//     where a transport counts, and sees nothing of what another pass holds.
//   - With the capability LocksKeys a List sees the first few letters of a key,
//     and with SerialGroups or OneAtATime and no bus.Pender the first letter; a Redrive or Drop
//     gets at all of them. A selection is slow there: it moves what stands before
//     it after waiting for more.
package redrive
