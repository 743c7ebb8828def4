// Package redrive manages dead letters on any transport of package bus: it lists and shows them,
// replaces a payload, publishes them to their original topic again, or drops them. No letter is
// redriven automatically.
//
//	letters, err := redrive.New(b, "dlq.payment", redrive.Config{})
//	listing, err := letters.List(ctx, redrive.Filter{Reason: "API_5XX"}, 100)
//	err = letters.Edit(ctx, id, payload)
//	result, err := letters.Redrive(ctx, redrive.Filter{IDs: ids}, redrive.Options{Rate: 50})
//	result, err = letters.Drop(ctx, redrive.Filter{All: true}, redrive.Options{DryRun: true})
//
// # Guarantees
//
//	property                                                      proven by
//	a redriven message is the original: id, bytes, metadata, and
//	dlq_redrive, which counts from 1                              TestARedrivenMessageIsTheOriginal
//	an unselected letter stays pending, at any place              TestRedriveSelected, TestFilters,
//	                                                              TestASelectionBeyondTheWindow
//	listing, showing and a dry run settle nothing                 TestListSettlesNothing, TestShow
//	a tool that is killed at any step loses nothing; finished
//	steps may be repeated                                         TestKilledAtAnyStepLosesNothing
//	after a cancellation the rest is pending, and letters that
//	are being published are done, within 5 s                      TestRateProgressAndCancellation,
//	                                                              TestACancelledPassIsNotRepeated,
//	                                                              TestACancelledPassEndsThoughAPublishHangs
//	a cancellation also ends the wait for an absent server        TestACancelledPassDoesNotWaitForTheServer
//	a slow rate, or a slow publish, ends no pass early            TestASlowRateReachesEveryLetter
//	a message that fails again waits for the next pass            TestWhatFailsAgainWaitsForTheNextPass
//	a letter that is in the topic twice is redriven once          TestListSettlesNothing,
//	                                                              TestLettersOfTwoGroupsAreOneMessage
//	an edit keeps id and key, and an event stays an event         TestEdit
//	an edit is not lost if its original remains                   TestAnEditIsNotLostBesideItsOriginal
//	an edit leaves each group its letter                          TestAnEditKeepsTheLettersOfTwoGroups
//	a letter that the transport takes back and delivers again is
//	no duplicate of itself                                        TestALetterThatIsTakenBackIsNotLost
//	a letter that cannot be redriven does not stop others         TestALetterThatCannotBeRedrivenStaysAndKeepsNobody
//	two passes at once lose nothing                               TestTwoPassesAtOnce
//
// Package bustest checks the same on every transport.
//
// # How it works
//
// A separate consumer group, bus/driver.RedriveGroup, reads the dead letter topic; the pending letters
// are those that this group has not acknowledged. bus.Runner declares the group with every dead
// letter topic, so that on a queue it exists before the first letter; on a log a new group
// starts at the earliest retained letter. The group's lag is the number of dead letters that
// wait for an operator, on any dashboard.
//
// A letter is published before it is acknowledged. Redriving everything streams. Most transports
// store only the longest acknowledged prefix. To take letters from the middle, a pass first
// moves the unselected letters before them to the end of the topic: it publishes them again with
// the same id, and acknowledges them. That only changes the order of pending letters. A
// transport with the capability IndividualAcks needs no such move.
//
// A pass ends when it has seen as many letters as the transport counted at the start, and no
// older letters come any more. If a consumer dead-letters a message again during the pass, the
// pass recognises it by dlq_redrive and does not redrive it.
//
// A redriven message reaches all groups of its topic, since a message cannot be published to one
// group. Groups that have handled it recognise its id and skip it; package idempotency provides
// that. It arrives behind newer messages of its key: order per key does not hold for redriven
// messages.
//
// Metadata whose name begins with dlq_ is reserved for dead letters and is removed when a
// message is redriven.
//
// # Failure modes
//
//   - A tool that is killed between a publish and the acknowledgement leaves the letter pending
//     although it was redriven, or twice in the topic although it was only moved. Repeating the
//     operation is harmless to idempotent consumers; List shows a letter once.
//   - Two passes over one topic share the group, as two consumers do: each sees the partitions
//     it holds, or one waits for the other. Each letter is done by one of them, or by both when
//     one takes over from the other; neither skips any permanently. Result.Complete is false for
//     a pass that saw only a part.
//   - After a tool is killed, the next one waits up to Config.Wait until the transport assigns
//     the partitions to it.
//   - If a transport's count of pending letters is too high, as a queue's can be for a while, a
//     pass waits for Config.Wait at its end.
//   - bus.RunnerConfig.DeadLetterRetention is the retention of letters: on Kafka they are
//     deleted after it; the SQL logs and mem:// keep pending letters of any age.
//   - Without driver.Pender, List reads up to Config.Window letters and hands them back. That takes
//     a consumer group's joining time, counts as a delivery where a transport counts, and misses
//     the letters that another pass holds.
//   - With the capability LocksKeys a List sees the first few letters of a key, and with
//     SerialGroups or OneAtATime and no driver.Pender the first letter; a Redrive or Drop reaches
//     all of them. A selection is slow there: it moves the letters before it, after a wait for
//     more.
package redrive
