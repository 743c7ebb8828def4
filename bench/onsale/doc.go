// Package onsale simulates the minute in which tickets go on sale, and judges it:
// 200,000 people come within ten seconds to four instances that share one line,
// call as often as they are told, are let in up to a threshold, stay for a few
// seconds and leave; some of them crash.
//
// The instances are those of a program: a queue.Room, its queuehttp.Handlers on a
// mux, a queue.Admitter, and a client of Redis each. People call ServeHTTP: only
// the sockets are missing. A load balancer sends each call of a person to another
// instance. Nothing is scaled: who is told to come in 30 s comes in 30 s.
//
// What is measured: how long the calls take from the first byte of the handler to
// its last; the memory of Redis for each who waits, when the line is longest; the
// memory and the processor time of this process, in which the crowd is a part.
// People who have to wait for somebody to make their call are late, which is said.
//
// What is judged, by the answers of the store itself and by what people were told:
//
//	nobody enters beyond the threshold: by the state in every answer of the store;
//	by what people knew, from the answer that lets them in to their leaving; and by
//	who was admitted when, with the places that are reserved
//
//	the order of arrival is that of admission: of all pairs whose first calls did
//	not overlap, none is inverted (Kendall's tau is 1)
//
//	nobody is admitted twice, unless the place was given up in between; nobody who
//	is alive is lost, nobody changes the place in line, and nobody who has left is
//	there: by a census at the end, which asks the store for everybody by name
//
//	property                                             proven by
//	pairs are compared as by comparing each of them      TestFairness
//	each thing that goes wrong is found, nothing else    TestJudge, TestFine
//	a no-show's place may be somebody else's             TestNoShows
//	what the store did is told apart from when an
//	answer came, and from what no answer told            TestInOrder, TestUnanswered
//	who leaves may have been let in unawares             TestLeftUnawares
//	people act when they are due                         TestSchedule, TestLateness
//	times are counted to 7 %                             TestMeter, TestBuckets
//	a small on-sale holds, and one on a broken store
//	does not                                             TestRun, TestBroken, TestRunOnRedis
//	a given Redis is left as it was                      TestRunOnGivenRedis
//
// Failure modes: the crowd has a share in the processor time of the machine, so
// that figures are those of a machine which does both. What people know is a bound
// from below: between the answer and the person nothing is seen.
package onsale
