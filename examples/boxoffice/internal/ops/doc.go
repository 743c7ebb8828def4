// Package ops is the operator's view: the state of the outbox, the consumers and the
// gateway, the dead letters, and whether the books agree.
//
// An audit reads the tables in one snapshot and asks the gateway for its own
// ledger. Each check lists the breaches. While work is in flight (not Quiescent) a
// check may fail for a moment; once everything is quiet, each failure is an error in
// the books. A comment that is not counted yet is in flight.
//
//	check                       broken when
//	sold-seats                  a sold seat is not of a CONFIRMED reservation, or the other way round
//	seat-sold-once              a seat is in two CONFIRMED reservations
//	held-seats                  a held seat is not of a PENDING reservation, or the other way round
//	money                       a CONFIRMED reservation, completed transfer or active membership is without
//	                            its payment, or a payment that was kept is without one of these, or the
//	                            receiver of a completed transfer without the ticket
//	gateway-ledger              the gateway's charges differ from the payments, or a key was charged twice
//	statistics                  a counter differs from the rows it counts
//	handled-once                a consumer group took effect twice for one event
//	nothing-lost                a consumer group has not handled an event that the rows say happened
//	nothing-stuck               a hold, a payment or a refund is open long past its time
//	comment-counts              a show counts other comments than it has, long after the last one
//	chat-places                 the places of a chat room have a gap, or are not those of its messages
//	outbox-drained              events wait, or were parked
//	consumers-drained           messages wait
//	no-dead-letters             there are dead letters that were neither redriven nor dropped
//
// An [Ops] is put together of parts with the methods: [Reports], [Books], [Letters],
// [ConsumerGroups] and [Metrics].
//
// There are two ways of asking. [Books.AuditNow], [Reports.ReportNow] and
// [Books.InvariantsNow] ask the transport and wait for its answer: a caller that waits
// for rest needs an answer of that moment. [Reports.Report], [Books.RecentInvariants]
// and [Metrics.Collectors] are for frequent callers: they return the transport's last answer,
// which [Ops.Run] refreshes in the background every 5 s, and its age. The lag is
//
//	known         the last answer, at most three rounds old
//	stale         the last answer, older: the transport does not answer
//	unknown       there was no answer yet
//	unsupported   the transport can never tell
//
// [Published] counts the events that the relays of all processes published, in a row
// that they share. A relay adds to it each second; a killed relay loses the count of
// its last second, never an event.
//
// The report's budget is that of the upstream of the artists: the plan, the figures
// of this process's limiter and coalescer, the waiting requests, and the calls of the
// last minute by all processes. Values that a process does not know are null there,
// not zero: those of another process, and outdated ones of a store. Reading the calls
// delays a report by the meter's timeout at most. Consumers of the artists are apart
// from the books ([Consumer].Apart): they are always at work, and each artist that
// the upstream does not have leaves a dead letter.
//
// The report's rooms are the waiting rooms of the shows, and the gates before them,
// as of their last answers: they are asked once a second while reports are asked for.
// An outdated answer of a store is shown with its age, and not as zero. Each room has
// the admissions of the last two minutes by the second, spread between two looks at
// it; where there was no look, and where the room was reset, they are null.
//
// The report's streams are the live streams of the process that is asked, since its
// start; each process with the role api has its own. No other process is asked for
// them. So is the chat of the process: the role api has sockets and accepts messages,
// the role worker stores them and sends to the live streams.
//
// Dead letters are listed, shown, edited, redriven and dropped by package redrive. A
// call that changes a topic works for Config.PassTime at most and then returns its
// progress, so that an HTTP request can carry it. Repeated with that progress, it
// goes on, and skips letters that have failed again meanwhile.
//
//	property                                                      proven by
//	a sound box office passes every check                         TestSound
//	each check fails when its subject is broken                   TestEachCheckCanFail
//	a gateway with another ledger is found                        TestLedgerDisagrees
//	an audit reads the tables in one snapshot                     TestOneSnapshot
//	a payment that begins during an audit is in flight            TestPaymentDuringAudit
//	a transport that hangs delays no report, last audit or scrape TestNobodyWaitsForTheTransport
//	an unknown lag is not shown as 0                              TestTransportHangsFromTheStart, TestTransportThatCannotTell
//	the last audit follows the events                             TestRecentInvariants
//	every process sees the events of all relays                   TestPublished
//	every metric is there from the start                          TestMetrics
//	the series of requests are bounded, whatever a client sends   TestRequestsAreBounded
//	the budget is reported, and unknown values are null           TestBudget, TestBudgetUnknown
//	consumers apart from the books break none                     TestConsumersApart
//	the rooms are reported, and unknown values are null           TestRooms, TestRoomsUnknown
//	admissions by the second add up to the room's count           TestRoomsAdmissions
//	a reset room, or one without a look, shows no rate            TestRoomsBeginAnew, TestRoomsNotLookedAt
//	the samples of a room are bounded                             TestAdmissionsAreBounded
//	rooms that do not answer delay no report                      TestNobodyWaitsForTheRooms
//	the live streams and the chat are reported                    TestStreams, TestChat
//	consumers' groups are listed, and reset while stopped         TestGroups
//	redriven or dropped letters no longer count                   TestDeadLetters
//	a dry run changes nothing                                     TestDeadLetters
//	an edit keeps the event's id and key                          TestEditDeadLetter
//	a pass that takes too long reports that, and goes on          TestPassGoesOn
//	one pass at a time changes a topic                            TestOnePassAtATime
package ops
