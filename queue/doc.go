// Package queue is a waiting room: it lets a crowd into an event in the order in
// which it came, never more at a time than the event holds, and tells each where
// they stand, a million of them on one small machine.
//
//	room, err := queue.New(store, keys, queue.Config{Threshold: 1000})
//	…
//	place, err := room.Check(ctx, "show-1", queue.Visitor{User: user, Ticket: ticket})
//	…
//	admitter, err := queue.NewAdmitter(room, queue.AdmitterConfig{})
//	…
//	err = admitter.Run(ctx) // in one process or in several
//
// The store keeps the lines: package memqueue for one process, redisqueue for
// many. Package token has the keys, the tickets and the entry tokens; queuehttp
// the handlers, the guard and the cookies; frontgate takes the crowd before it
// comes here; queuenotice publishes who was let in; queueprom has the metrics.
//
// # Guarantees
//
//	property                                              proven by
//	order of arrival, by number and not by name or time   order-of-arrival, order-within-a-call, TestAdmissionInOrderAtThePace
//	nobody passes the line                                nobody-passes-the-line, arrivals-race-for-places
//	nobody is let in while active and reserved reach the
//	threshold, also while it changes                      threshold-changes, reserved-takes-a-place, random-walks
//	one place for each, over all processes                one-place-each, concurrent-instances
//	the pace is the room's, however many admitters run    tick-guard, admissions-race, TestSeveralAdmitters
//	one bad event holds up no other                       TestOneBadEventHoldsUpNoOther
//	a position is exact, at most a snapshot old           TestSnapshotIsTheLine, TestPositionsAreThoseOfTheLine
//	… and never goes back within a process                TestAPositionDoesNotGoBack, TestASnapshotThatComesLateTakesNothingBack
//	a poll with a ticket costs the store nothing          TestAPollWithATicketCostsNoCall
//	a crowd asks for a snapshot once a second             TestOneOfACrowdRefreshesOnceASecond
//	a crowd of newcomers shares calls, each in its order  TestACrowdSharesCalls
//	a ticket is of one user and one event                 TestATicketThatIsNotTheVisitorsCountsAsNone
//	who polls stays in line, who does not is removed      TestWhoPollsStays, sweep-removes-the-silent
//	nobody is removed because polls could not arrive      TestNobodyIsRemovedForAnOutage
//	signs of life are told once a minute, those lost
//	again, and the last by Flush                          TestBeatsAreToldOnceAMinute, TestLostBeatsAreToldAgain, TestFlush
//	a crowd is no faster than the store hears of it       TestACrowdIsNoFasterThanTheStoreHearsOfIt
//	one notice for each admission, from the line or at
//	once                                                  TestANotice, TestNoticesOfACrowd, enters-at-once
//	an admission is worth nothing after leaving           TestAnEntryIsWorthNothingAfterLeaving, verify-by-entry
//	without its store nobody enters, within two timeouts  TestStoreAway, TestWhileTheStoreHangsACrowdIsRefusedSoon
//	… and all goes on when it is back                     TestStoreAway, TestAdmissionGoesOnAfterTheStoreWasAway
//	after a loss of all data the line forms again         TestALineFormsAgainAfterALoss, lost-line-forms-again
//	a cleared room owes nobody anything                   TestTicketsOfAClearedRoomAreWorthNothing
//	made-up event ids are bounded                         TestEventsAreBounded, TestIdleEventsAreForgotten
//	less than a byte of a process for each who waits      TestMemoryForEach
//
// Names in lower case are cases of package queuetest, which every store passes.
//
// # What a poll costs
//
// A process keeps a snapshot of each line it serves: a bit for each who waits. A
// ticket carries the arrival number of its owner, sealed, so that a poll is: open
// the ticket, look whether the bit is set, count those before it. That takes about
// half a microsecond, half of it for the seal, no memory, and no call of the store
// (BenchmarkPoll). Once a second one of those who poll asks the store for
// the blocks that have changed (BenchmarkRefresh); the others take the snapshot
// that is there.
//
// Everybody else is a visit: who has no ticket, whose bit is not set (any more),
// who is inside, who leaves. Visits that come while a call is under way share the
// next, up to 500, in the order in which they came; when 24 wait, that call is not
// waited for, and the two may overtake each other. Who has just lined up is a visit
// until a snapshot knows them.
//
// The room has no goroutine. Who refreshes a snapshot, or sends the signs of life
// of 500 others, is a visitor who waits for that call. When 8,000 are not told of,
// all who poll wait until the store has heard of some.
//
// # Poll intervals, signs of life and the grace
//
// Place.NextPoll grows with the distance, from 1 s near the door to 60 s, with up
// to a tenth more by chance. Each poll is a sign of life. A process gathers those,
// one for each visitor and minute, and sends them with the next visit, with the
// next refresh, or as soon as there are 500: hence the store may learn of a poll
// as late as at the next poll of anybody in that process. Who is not heard of for
// Config.Seen is removed from the line, or from inside. It is at least three times
// the longest interval, so that a poll may fail and a sign of life be lost without
// harm, and at least 150 s, since a hidden tab polls once a minute. Who comes back
// within it keeps the place.
//
// # Places, no-shows and the threshold
//
// Who is let in from the line has a reserved place until they are seen, by any
// poll. From then on it is theirs for Config.Active, which does not grow by polls,
// or until they are done, leave, or are not heard of. Who does not come within
// Config.NoShow is a no-show: the place goes to the next, and who comes later,
// within Config.Seen of the admission, stands in line where they stood.
//
// A threshold that is lowered expels nobody: nobody is let in until fewer are
// active. 0 lets nobody in, and neither does a pause; those inside stay.
//
// Place.Wait is the position divided by the admissions of the last minute. While
// there were none it is a guess of 50 a second, and 5 s at least. It says nothing
// while the room is paused, or its threshold is 0.
//
// # Failure modes
//
// The store is away or slow: visits get [ErrUnavailable] and nobody enters. Who
// has a ticket is told the place by the snapshot until that is Config.MaxStale
// old. A call that failed keeps the process from the next for 250 ms and event, so
// that a crowd does not queue for timeouts. A visit without an answer may have
// been carried out: who comes again finds the place by name.
// An admitter removes nobody from a line before the store has been there for
// 150 s without a break, so that an outage longer than Config.Seen costs nobody
// the place.
//
// The store has lost its data: the room begins another epoch, behind all numbers
// that were given before. Who comes back with a ticket, from the line or from
// inside, lines up by its number; the first of them has the room settle, and
// nobody enters until Config.Settle after its beginning, so that the order is
// there again before the next is let in. Who has no ticket is at the end of the
// line. Those inside have to come in anew, their entry tokens are not of this
// epoch any more ([Room.Verify]), and threshold, pause and gate are the defaults.
//
// The store has lost its last writes, as a failover of Redis may, or a restart
// with appendfsync everysec: who lined up in them has a ticket with a number that
// is not in line, and is lined up at the end with the next Check. Where the number
// was given again since then, both are told its place until it is the turn of the
// one who has it by name; the other is then lined up at the end. Nobody gets in
// twice for it: users are let in by name. Who was let in in those writes stands in
// line again and is let in again.
//
// A process is killed: its visitors go to another one with their tickets. Signs of
// life that it had not sent are lost, at most those of a minute, which the grace
// covers. [Room.Flush] sends them before an orderly end. Its admitter's work is
// taken up by any other; those it let in without a notice learn of it by their
// next poll.
//
// Clocks: those of the processes do not matter. Times are the store's, and what a
// process measures of them it measures by its monotonic clock. A step of the
// store's clock ends places or keeps them by that much; it removes nobody from the
// line who polls within 150 s.
//
// A user who leaves, and comes back with the old ticket before the process has
// refreshed its snapshot, is told the old place once more; the next poll lines
// them up at the end. Who calls Leave should have the ticket dropped.
//
// Whoever can call Check makes events: the store keeps lines for all ids that
// users make up. Let the ids of real events through only.
package queue
