// Package queue is a waiting room: it admits a crowd to an event in the order of
// arrival, never more users at a time than the event holds, and tells each user the
// position in the line. One small machine serves a million.
//
//	room, err := queue.New(store, keys, queue.Config{Threshold: 1000})
//	…
//	place, err := room.Check(ctx, "show-1", queue.Visitor{User: user, Ticket: ticket})
//	…
//	err = room.Run(ctx) // the admitter: in one process or in several
//
// The store keeps the lines: package memqueue for one process, redisqueue for many.
// Package token has the keys, the tickets and the entry tokens; queuehttp the
// handlers, the guard and the cookies; frontgate stands before the waiting room;
// queuenotice publishes the admissions; package metrics exports the counts.
//
// # Guarantees
//
//	property                                              proven by
//	only a join may be refused, by Visitor.Join           TestOnlyAJoinIsAsked
//	order of arrival, by number and not by name or time   order-of-arrival, order-within-a-call, TestAdmissionInOrderAtThePace
//	no user passes the line                               nobody-passes-the-line, arrivals-race-for-places,
//	                                                      TestCheatsMoveNoHonestUser
//	no user enters while the active reach the threshold,
//	also while it changes                                 threshold-changes, turn-takes-a-place, random-walks
//	users that are silent at their turn hold up no other  silent-turns-hold-up-nobody, TestNoShowsCutNoAdmissions
//	a user that polls within NoShow goes before all
//	users behind                                          silent-turns-hold-up-nobody, random-walks
//	one place per user, over all processes                one-place-each, concurrent-instances
//	a silent user may come back to the place within
//	Config.Keep, once                                     TestAPhoneThatWasLocked, kept-place-after-silence,
//	                                                      kept-place-is-used-once, no-place-is-kept
//	returners raise no position of the line, and take at
//	most every fourth turn                                returners-raise-no-position,
//	                                                      returners-take-every-fourth-turn
//	a return is asked like a join                         TestAReturnIsAsked
//	… and so is a ticket that is worth nothing            TestATicketOfAClearedRoomIsAskedLikeNone,
//	                                                      TestATicketOfALossIsNotAsked
//	a lane takes at most its share of the turns, in the
//	order of arrival, and raises no position              TestLanesOfARoom, lanes-take-their-share,
//	                                                      lanes-raise-no-position, lane-members-stand-in-line
//	… and the share that an operator has set for the event TestSharesOfAnEvent, shares-of-operators-hold
//	the challenge that an operator switches holds in all
//	processes, and through a loss of the store's data     TestChallengeOfAnEvent, challenge-of-operators-holds,
//	… and a join costs no call of the store more           TestAJoinCostsNoCallMore
//	the pace is the room's, however many admitters run    tick-guard, admissions-race, TestSeveralAdmitters
//	… and where no user waits they ask once a second      TestARoomWithoutALineIsLookedAtSeldom
//	one bad event does not hold up the others             TestOneBadEventHoldsUpNoOther
//	a position is exact, at most a snapshot old           TestSnapshotIsTheLine, TestPositionsAreThoseOfTheLine
//	… and never goes back within a process                TestAPositionDoesNotGoBack, TestASnapshotThatComesLateTakesNothingBack
//	a poll with a ticket costs the store nothing          TestAPollWithATicketCostsNoCall
//	a crowd asks for a snapshot once a second             TestOneOfACrowdRefreshesOnceASecond
//	a crowd of newcomers shares calls, each in its order  TestACrowdSharesCalls
//	a ticket is of one user and one event                 TestATicketThatIsNotTheVisitorsCountsAsNone
//	polls keep a place in line, silent users leave it     TestWhoPollsStays, sweep-removes-the-silent
//	an outage that stops the polls removes no user        TestNobodyIsRemovedForAnOutage
//	signs of life are sent once a minute, lost ones
//	again, and the last by Flush                          TestBeatsAreToldOnceAMinute, TestLostBeatsAreToldAgain, TestFlush
//	a crowd polls no faster than the store takes beats    TestACrowdIsNoFasterThanTheStoreHearsOfIt
//	one notice for each turn, and one for each admission,
//	from the line or at once                              TestANotice, TestNoticesOfACrowd, enters-at-once
//	an admission is worth nothing after leaving           TestAnEntryIsWorthNothingAfterLeaving, verify-by-entry
//	without its store no user enters, in two timeouts     TestStoreAway, TestWhileTheStoreHangsACrowdIsRefusedSoon,
//	                                                      TestAProcessThatStartsWhileTheStoreHangs
//	… and admission goes on when it is back               TestStoreAway, TestAdmissionGoesOnAfterTheStoreWasAway
//	after a loss of all data the line forms again         TestALineFormsAgainAfterALoss, lost-line-forms-again,
//	                                                      TestAHiddenTabOutlivesALoss
//	… also when it came after a long outage               TestTicketsOutliveAnOutageAndALoss, ticket-from-before-an-outage
//	a kept or late ticket gets no user ahead              TestAKeptTicketOutlivesNoLoss, ticket-from-before-the-loss,
//	                                                      ticket-to-a-settled-room, ticket-of-a-lapsed-room,
//	                                                      TestAnIdleProcessSaysNothingOfALoss
//	a ticket is renewed without a call of the store       TestATicketIsSealedAnewWithoutACall, TestATicketWithoutATimeIsRenewed
//	lost last writes cost no user the place               TestLostWritesCostNoPlace, tickets-of-lost-writes,
//	                                                      goes-on-above-what-is-known
//	tickets of a cleared room are worth nothing           TestTicketsOfAClearedRoomAreWorthNothing
//	with Config.Settings a paused room that loses its
//	data stays paused                                     TestAFlushedRoomStaysPaused, a-loss-closes-the-room
//	… and admits no user until its settings are known     TestARoomIsClosedUntilItsSettingsAnswer,
//	                                                      closed-until-the-settings-are-known
//	before its opening a room admits no user, and none has
//	a position                                            TestAnOpening, closed-until-the-opening
//	at the opening users have the places of the draw, and
//	later ones are behind them                            TestAnOpening, the-draw-orders-the-line,
//	                                                      tickets-between-freeze-and-list,
//	                                                      a-draw-keeps-the-lanes
//	… among the users of the room that opens              TestARoomIsClearedBetweenItsListAndItsLeaves
//	silent users take no part, hidden tabs do             TestSilentUsersAreNotDrawn
//	a draw goes on after a kill at any step               TestADrawGoesOn, a-draw-has-one-holder,
//	                                                      steps-of-a-draw-in-order
//	a slow draw is not taken over                         TestASlowDraw
//	the leaves are published before the beacon is asked,
//	and the seed after it                                 TestABeacon
//	a seed that is known is not used again                TestALossNearTheOpening, a-draw-that-was-held
//	… and one that is not known is                        TestALossWhileTheBeaconIsAsked
//	the seed lies encrypted in the settings               TestTheSeedIsNotReadable
//	an opening that cannot be is refused                  TestOpenAtRefuses
//	an opening is fixed by the freeze                     an-opening-is-fixed-by-the-freeze,
//	                                                      TestAnOpeningThatIsTakenBackTooLate,
//	                                                      TestABeaconThatIsNamedTooLate
//	a user enters only while there is stock for all users
//	inside, and each finds a seat                         TestAllThatEnterFindASeat, stock-in-random-order,
//	                                                      leaving-returns-no-stock,
//	                                                      leaving-while-the-stock-is-asked,
//	                                                      TestAUserThatLeavesWhileTheStockIsAskedFor,
//	                                                      TestAProcessThatStartsWhileAUserBuys,
//	                                                      TestARoomIsClearedWhileTheStockIsAskedFor
//	no user enters an empty house, returns go on          TestNobodyEntersAnEmptyHouse, an-empty-house-admits-nobody
//	seats that come back to a house that was sold out are
//	for those that wait, before newcomers                 returned-seats-are-for-the-line
//	a stock that the store knows is told seldom           TestAKnownStockIsNotToldAgain
//	a new room waits for its stock, at most a minute      closed-until-the-stock-is-told, TestAStockThatNeverAnswered
//	the first visitors wait while one asks for it         TestVisitorsWaitForTheStockOfANewRoom
//	the last answer holds for a minute, and an empty
//	house stays closed                                    TestAStockThatDoesNotAnswer, TestASoldOutHouseStaysSo
//	a stock that hangs, or fails in one process, holds
//	up no other event or process                          TestAHangingStock, TestSeveralAdmittersAndTheirStock
//	operators' changes are saved before they hold, and
//	reach the store in their order                        TestSettingsAreSavedFirst, TestASavedChangeReachesTheStore,
//	                                                      TestAnOperatorWhoIsOvertaken, older-settings-change-nothing
//	made-up event ids are bounded                         TestEventsAreBounded, TestIdleEventsAreForgotten
//	less than a byte of a process per waiting user        TestMemoryForEach
//	the wait is known from the opening on, and counts
//	the users that are still inside                       TestEstimate, TestWaitRange, stays-are-counted,
//	                                                      stays-begin-anew
//	… unknown while no user is admitted                   TestUnknownWait
//	… within a factor of two for nine of ten people       TestWaits
//	figures by minute are those of the room, whichever
//	process is killed, and hold up no admission           TestFigures, TestFiguresAfterClearing, TestFiguresAway,
//	                                                      TestFiguresOfLanesAndStock,
//	                                                      TestSlowFiguresDoNotSlowThePace,
//	                                                      TestTimeInLineAfterARestart
//
// Names in lower case are cases of package queuetest, which every store passes.
//
// # The cost of a poll
//
// A process keeps a snapshot of each line it serves, with a bit for each waiting
// user. A ticket carries the arrival number of its owner, sealed. A poll opens the
// ticket, looks whether the bit is set, and counts the bits before it. That takes
// about half a microsecond, half of it for the seal, no memory, and no call of the
// store (BenchmarkPoll). Once a second one poll asks the store for the blocks that
// have changed (BenchmarkRefresh); the others take the present snapshot.
//
// All other calls are visits to the store: users without a ticket, users whose bit
// is not set (any more), users inside, returners, and leaving users. Visits that arrive while
// a call is in flight share the next, up to 500, in their order of arrival; once 24
// wait, the next call starts at once, and the two may overtake each other. After
// lining up, a user's polls are visits until a snapshot has the user's bit.
//
// The room has no goroutine. Snapshots are refreshed, and the signs of life of 500
// others sent, by a visitor's poll, which waits for that call. When 8,000 signs of
// life are pending, all polls wait until the store has taken some.
//
// # Poll intervals, signs of life and the grace
//
// Place.NextPoll grows with the position, from 1 s at the head of the line to 60 s,
// with up to a tenth of random jitter. Each poll is a sign of life. A process
// collects them, one for each visitor and minute, and sends them with the next
// visit, with the next refresh, or as soon as there are 500. The store may
// therefore learn of a poll as late as at the next poll of any user in that
// process. A user without a sign of life for Config.Seen is removed from the line,
// or from inside; see "Silence". Config.Seen is at least three times the longest interval, so that
// a poll may fail and a sign of life be lost without harm, and at least 150 s,
// since a hidden tab polls once a minute. A user back within it keeps the place.
//
// # Turns, places and the threshold
//
// No place is reserved. When a place gets free, the turn of the first in line has come
// (Place.Turn, Config.NotifyTurn), and the next poll takes the place, in one step of the
// store. The user holds it for Config.Active, which does not grow by polls, or until the
// user is done, leaves, or stops polling.
//
// A user whose turn has come is a taker of a place until the store should have heard of
// the user: the poll interval, Config.Refresh and a second, 3.1 s by default. After that
// the user is silent, and the front moves on: for each free place without a taker comes
// the turn of one more user, and of one more for each silent user, by at most Config.Batch
// in each Config.Tick. So at most Batch times NoShow divided by Tick users are silent. A
// poll takes a free place if there are more of them than takers before the user: no user
// that polls as told is passed. A silent user that polls within Config.NoShow is a taker
// again, before all users behind. A taker that polled while no place was free, as a
// hidden tab, keeps the right to one for Config.NoShow after the poll.
//
// A user that is silent for Config.NoShow after the turn is a no-show, and no longer
// counts as ahead.
//
// A lowered threshold expels no one: no user enters until fewer are active. A threshold
// of 0 admits no one, and neither does a pause; the users inside stay.
//
// # Stock
//
// [Config.Stock] says how many users an event can still serve, such as its free seats.
// Then there are as many places as the threshold says or as the stock is enough for,
// whichever is less. So each user inside has a seat to find, also if all users inside
// buy one, and admissions slow as the house empties. Users in line are not turned away:
// seats that come back make places again, and no newcomer enters before those that were in
// line have had the time to poll. Place.SoldOut tells them, and the wait is
// unknown for the positions that the stock does not reach.
//
// The stock serves the users that are inside, too. Where users hold seats before they buy
// them, answer with the seats that are not sold, and with zero while none is free: if held
// seats did not count, their holders would count twice. Call Done when a purchase is
// complete. A user that leaves frees no place before the next answer, since the user may
// have bought.
//
// Admitters ask for the stock in each Tick, before the turns, and tell the store where it
// has changed or users have left; the other processes take it from there. A process also asks before its first visit for an event,
// and while the store knows no answer, so that a new room is open at once. An admitter
// without Config.Stock forgets it: set it in all processes, or in none.
//
// # Silence
//
// A user whom the room has not heard of for Config.Seen leaves the line, and a no-show loses
// the turn. The order of both is kept: a bit in the store, which the ticket names. With a
// Check that brings the ticket, until Config.Keep after the time in it, which is one to three
// minutes after the last poll, the user is a returner (Place.Returner). A no-show needs no
// ticket within Config.Seen of the turn: the store knows it by name. Where Visitor.Join
// refuses the return, the place stays kept.
//
// Returners are in no line that others see. They wait by the order of their places, and
// every fourth turn is theirs while there are any; all turns are while the line is empty. So
// a crowd that comes back slows the line by a third at most, and takes back no position that
// was told. A returner whose place is earlier than those of others goes before them: their
// positions among the returners may rise.
//
// A place is kept once. A returner that is silent for Config.Seen, or for Config.NoShow after
// the turn, goes to the end of the line next time. No place is kept of a user that left, that
// was inside, or that was silent before the opening of a room.
//
// A user that is silent and joins again without the old ticket has both places, one after the
// other: in an hour at most Keep divided by Seen of them, each for a challenge where one is on.
//
// # Lanes
//
// A user with a Visitor.Lane has a place in the line as everyone has, and a place in the lane,
// behind the members who came earlier. The turn comes by the first of the two. A lane has a
// credit that grows by its share with each turn of the room; when it is one, and a member
// waits, the turn is the lane's. So over any number of turns a lane takes its share and at
// most two turns more, in ticks of one turn as in those of a hundred. What it does not use is
// the line's. [Room.SetShares] changes the shares of an event while its room is in use, in all
// processes at once. A lane of members alone makes the line of others slower, and Place.WaitHigh says
// so; their positions only fall.
//
// # The estimate of the wait
//
// Place.Wait follows from how long users stay inside, by Little's law: in the long
// run the admissions in a second are the places divided by the time for which one is
// taken. The store counts the users inside by their age and the stays that are over by
// their length ([Stays]). Users that are still inside count as well, since their stay
// is at least as long as their age: the estimator is that of Kaplan and Meier. A
// forecast, made once in Config.Refresh, follows the places from now on: those free
// now, and those that get free given the ages of the users inside. No-shows before a
// user take none of them. At most Config.Batch turns come in each Config.Tick.
//
// At the opening no user has left. Then users are taken to stay for about half of
// Config.Active, and not for as short as the first of them happen to stay. Each user
// that leaves makes the estimate better; Place.WaitLow and WaitHigh are the range, from
// half to twice the wait at first. The wait is unknown while the room is paused, or
// its threshold is 0.
//
// Of on-sales with a line of eight times the places and stays of nine distributions,
// nine of ten people are told a wait within a factor of two of the truth for most of
// the time (proof/onsale, printed by make onsale). The estimates of the first ten
// seconds are as good, with two exceptions: the users that leave at once tell nothing about
// the users that stay, or every second user does not come.
//
// # Figures by minute
//
// [Room.Figures] tells what happened in each minute of the last 12 hours. Each admitter
// records the room every 5 s: the store's own counts, and not the process's. So the last
// sample of a minute is right, whichever process made it, and a killed process loses
// nothing. The differences of the samples are the figures.
//
// The times in line are those of users whose turn came. A process notes when it saw which
// arrival numbers, and reads the joining time of a number from its notes; after a restart
// the samples of the minutes stand in for them. Only a process that serves visitors and
// admits can tell them. A store that keeps no figures, see [driver.Recorder], has none.
//
// # Failure modes
//
// The store is unreachable or slow: visits get [ErrUnavailable] and no user enters.
// The snapshot answers users with a ticket until it is Config.MaxStale old. After a
// failed call the process makes no call for that event for 250 ms, so that a crowd
// does not queue for timeouts. A visit without an answer may have been carried out:
// the next visit finds the place by the user's name. An admitter removes no user
// from a line before the store has been reachable for 150 s without a break, so
// that an outage longer than Config.Seen costs no user the place.
//
// The store has lost its data: the room begins another epoch, whose numbers are
// behind all numbers given before. A user who returns with a valid ticket, from the
// line or from inside, lines up by its number. A process that knows the epoch before, or
// else the first of these users, starts a settling time: no user enters until
// Config.Settle after the beginning of the epoch, so that the order is restored before
// the next admission. All other users are at the end of
// the line. Users inside must line up again, their entry tokens are not of this epoch
// any more ([Room.Verify]). Threshold and pause come from Config.Settings, which every
// new room waits for; without Config.Settings they are the defaults, so a paused sale
// goes on. The gate is off.
//
// A ticket is valid then if it comes within Config.Settle of the beginning of the new
// epoch, and was sealed within two poll intervals of its owner and a minute before
// the room was last heard of. Tickets are renewed twice a minute, while a
// snapshot has their place. Each process tells the store when it last heard of the
// epoch before, so an outage before the loss costs no user the place, however long
// it was. If all processes were replaced since then, the beginning of the new epoch
// counts instead. After [Room.Clear], and after a day in which the room had no call
// and its keys expired, no ticket is valid. The same holds for a ticket of an
// earlier release, which says no time, until its owner polls once.
//
// One replay remains: the last ticket of a user that left the line, or was admitted
// and is inside or done, within two poll intervals and a minute before the loss: 62 s
// for the first 1,000 of the line, 192 s at most. Such a user gets the old place once
// more, and takes no other user's. After a long outage the processes cannot tell
// more than that.
//
// The store has lost its last writes, as a failover of Redis may, or a restart with
// appendfsync everysec: a user who lined up in them has a ticket with a number that
// the store does not know. With the next Check the user lines up by that number,
// once, before all later users. Each process tells the store the highest number
// that it has seen, and redisqueue leaps on another server, so that the number was
// not given again since. The log, State.Servers and a metric of package metrics tell of the
// other server; package redisqueue says what remains where Redis hides its identity.
// No user gets in twice: admission is by name. A user admitted in those writes stands
// in line again and is admitted again.
//
// Config.Settings is unreachable: operators' calls fail, and change nothing, unless the
// change was saved and the answer alone was lost. Rooms go on with the copy that the store
// has; a room that is new, or has lost its data, lines users up and admits none until the
// settings have answered. A change that was saved and did not reach the store is carried out
// by an admitter within a minute, once that has run for 150 s.
//
// Config.Stock fails, hangs or panics: the last answer holds for a minute, and each user
// that enters uses some of it. Then the threshold alone counts: the sale goes on, since
// the application itself sells no seat twice, and some users may find none. An event that
// is sold out stays closed until there is an answer, since its users would find an empty
// house and its returns are not lost. A new room, or one that has lost its data, admits
// no user until the first answer, for at most a minute. The log tells when the failures
// begin and end, Stats and package metrics count them. A call that ignores its context is
// left behind after Config.Timeout, and there is no other for the event until it returns.
//
// A draw ([Room.OpenAt]) goes on while an admitter runs and the store, the settings and
// the beacon answer; until it is done no user enters. docs/on-sale.md says what a loss
// of the store's data near the opening does.
//
// A process is killed: its visitors go to another process with their tickets. The
// signs of life that it had not sent are lost, at most those of a minute, which
// Config.Seen covers. [Room.Flush] sends them before an orderly end. Any other
// admitter takes up its admitter's work; users whose turn came without a notice learn
// of the turn by their next poll.
//
// Clocks: those of the processes do not matter. Times are the store's, and a
// process measures durations by its monotonic clock. A step of the store's clock
// shortens or prolongs the places of users inside by that much; it removes no user
// from the line that polls within 150 s.
//
// After a Leave, a poll with the old ticket before the process has refreshed its
// snapshot returns the old position once more; the next poll lines the user up at
// the end. Drop the user's ticket when you call Leave.
//
// Any caller of Check makes events: the store keeps lines for all ids that users
// make up. Let the ids of real events through only.
package queue
