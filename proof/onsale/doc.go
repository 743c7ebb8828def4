// Package onsale simulates the minute in which tickets go on sale, and judges it:
// 200,000 people come within ten seconds to four instances that share one line.
// They poll as often as they are told, are admitted up to a threshold, stay for a
// few seconds and leave; some of them crash.
//
// The instances are those of a program: a queue.Room, its queuehttp.Handlers on a
// mux, a running admitter, and a client of Redis each. People call ServeHTTP: only
// the sockets are missing. A load balancer sends each call of a person to another
// instance. Nothing is scaled: a person told to come in 30 s comes in 30 s.
//
// Presale is an opening: 200,000 people line up before it, the room draws their order,
// and each asks for the place. All places are compared with those that two programs
// compute from the published seed and leaves: package draw, and docs/verify-draw.py.
//
// Waits are on-sales in virtual time, for what an estimate of the wait is worth:
// people with stays of several distributions, some of them no-shows, ask for the
// wait every 10 s and later compare it with the truth.
//
// Measured are: the time of a call from the first byte of the handler to its last;
// the memory of Redis for each waiting person, when the line is longest; the memory
// and the processor time of this process, which includes the crowd. The report also
// says how late people were because no worker was free to make their call.
//
// Judged are the following, by the answers of the store itself and by the answers
// that people got:
//
//	the active people stay below the threshold: by the state in every answer of the
//	store; by the people's own view, from the answer that lets them in to their
//	leaving; and by the times at which the store gave places
//
//	the order of arrival is that of admission: of all pairs whose first calls did
//	not overlap, none is inverted (Kendall's tau is 1)
//
//	no person is admitted twice, unless the place was given up in between; no living
//	person is lost or changes the place in line, and no person who has left is in
//	the room: by a census at the end, which asks the store for each person by name
//
//	property                                             proven by
//	pairs are compared as by comparing each of them      TestFairness
//	each thing that goes wrong is found, nothing else    TestJudge, TestFine
//	a no-show's place may be another person's            TestNoShows
//	the time of a store's step is told apart from that
//	of its answer, and from lost answers                 TestInOrder, TestUnanswered
//	a leaving person may just have been admitted         TestLeftUnawares
//	people act when they are due                         TestSchedule, TestLateness
//	told waits are within a factor of two of the truth
//	for nine of ten people                               TestWaits
//	a small on-sale holds, and one on a broken store
//	does not                                             TestRun, TestBroken, TestRunOnRedis
//	a given Redis is left as it was                      TestRunOnGivenRedis
//	an opening holds, and one whose room stands in
//	another order than the published one does not        TestPresale, TestPresaleOnRedis,
//	                                                     TestPresaleInAnotherOrder
//
// Failure modes: the crowd has a share in the processor time of the machine, so the
// figures are those of a machine that runs both. The people's own view is a bound
// from below: nothing between the answer and the person is seen.
package onsale
