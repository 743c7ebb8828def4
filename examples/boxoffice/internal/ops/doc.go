// Package ops is what an operator sees: how the outbox, the consumers and the
// gateway are doing, what was given up, and whether the books agree.
//
// [Ops.Invariants] reads the tables in one snapshot and asks the gateway for
// its own ledger. Each check lists what breaks it. While something is under way
// (not Quiescent) a check may fail for a moment; once everything is quiet, each
// failure is an error in the books. A comment that is not counted yet is under way.
//
//	check                       broken when
//	sold-seats                  a sold seat is not of a CONFIRMED reservation, or the other way round
//	seat-sold-once              a seat is in two CONFIRMED reservations
//	held-seats                  a held seat is not of a PENDING reservation, or the other way round
//	money                       a CONFIRMED reservation, completed transfer or active membership is without
//	                            its payment, or a payment that was kept is without one of these
//	gateway-ledger              the gateway charged something else than the payments say, or a key twice
//	statistics                  a counter differs from the rows it counts
//	handled-once                a consumer group took effect twice for one event
//	nothing-lost                a consumer group has not handled an event that the rows say happened
//	nothing-stuck               a hold, a payment or a refund is open long past its time
//	comment-counts              a show counts other comments than it has, long after the last one
//	chat-places                 the places of a chat room have a gap, or are not those of its messages
//	outbox-drained              events wait, or were parked
//	consumers-drained           messages wait
//	no-dead-letters             messages were given up, and nobody has redriven or dropped them
//
// Two ways of asking. [Ops.AuditNow], [Ops.ReportNow] and [Ops.InvariantsNow] ask
// the transport and wait for its answer: whoever waits for rest needs one that is
// true of that moment. [Ops.Report], [Ops.RecentInvariants] and [Ops.Metrics] are
// for those who look all the time: they tell what the transport said last, as
// [Ops.Run] has it in the background every 5 s, and how old that is. The lag is
//
//	known         the last answer, at most three rounds old
//	stale         the last answer, older: the transport does not answer
//	unknown       there was no answer yet
//	unsupported   the transport can never tell
//
// [Published] counts what the relays of all processes published, in a row that
// they share. A relay adds to it each second; one that is killed takes the count
// of its last second along, never an event.
//
// The report's budget is that of the upstream of the artists: the plan, what this
// process's limiter and coalescer did, what waits, and the calls of the last
// minute by all processes. What a process does not know is null there, and no
// zero: that of another process, and what a store said too long ago. Reading the
// calls delays a report by the meter's timeout at most. Consumers of the artists
// are apart from the books ([Consumer].Apart): they are always at work, and each
// artist that the upstream does not have leaves a dead letter.
//
// The report's rooms are the waiting rooms of the shows, and the gates before them,
// as they were told last: they are asked once a second while somebody asks for
// reports. What a store says too late stands with its age, and is no zero. Each
// room has the admissions of the last two minutes by the second, spread between
// two looks at it; where nobody looked, and where the room began anew, they are
// null.
//
// The report's streams are the live streams of the process that is asked, since
// its start; each process with the role api has its own. Nobody is asked for them.
// So is the chat of the process: the role api has sockets and accepts messages, the
// role worker stores them and tells the live streams.
//
// Dead letters are listed, shown, edited, redriven and dropped by package
// redrive. A call that changes a topic works for Config.PassTime at most and
// then says how far it came, so that an HTTP request can carry it; repeated with
// what it says, it goes on, and leaves alone what has failed again meanwhile.
//
//	property                                                      proven by
//	a sound box office passes every check                         TestSound
//	each check fails when what it watches is broken               TestEachCheckCanFail
//	a gateway that says something else is found out               TestLedgerDisagrees
//	a transport that hangs delays no report, last audit or scrape TestNobodyWaitsForTheTransport
//	a lag that nobody has told is no 0                            TestTransportHangsFromTheStart, TestTransportThatCannotTell
//	the last audit follows what happens                           TestRecentInvariants
//	every process sees what all relays published                  TestPublished
//	every metric is there from the start                          TestMetrics
//	the budget is told, and what is not known is null             TestBudget, TestBudgetUnknown
//	consumers apart from the books break none                     TestConsumersApart
//	the rooms are told, and what is not known is null             TestRooms, TestRoomsUnknown
//	admissions by the second add up to what the room counts       TestRoomsAdmissions
//	a room that began anew, or was not looked at, shows no rate   TestRoomsBeginAnew, TestRoomsNotLookedAt
//	what is kept of a room is bounded                             TestAdmissionsAreBounded
//	rooms that do not answer delay no report                      TestNobodyWaitsForTheRooms
//	the live streams and the chat are told                        TestStreams, TestChat
//	consumers' groups are told, and reset while they are stopped  TestGroups
//	what was redriven or dropped counts no more                   TestDeadLetters
//	a dry run changes nothing                                     TestDeadLetters
//	an edit keeps the event's id and key                          TestEditDeadLetter
//	a pass that takes too long says so, and goes on               TestPassGoesOn
//	one pass at a time changes a topic                            TestOnePassAtATime
package ops
