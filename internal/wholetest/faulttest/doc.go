// Package faulttest breaks real servers under a whole flow and checks that the flow
// loses nothing. Writers append events in their transactions, relays publish them,
// and two consumers of one group write their effects. Meanwhile a broker is killed,
// a database is killed, connections are cut or slow, consumers come and go, and
// leaders move. It holds tests only.
//
//	fault                                        test
//	the broker is killed and starts again        TestBrokerKilled
//	the database is killed and starts again      TestDatabaseKilled
//	connections to the broker are cut            TestConnectionsCut
//	every packet to the broker is late           TestConnectionsSlow
//	consumers come and go while busy             TestRebalance
//	a partition's leader moves, or dies          TestLeaderMoves
//
// Every test ends with the same questions: has every committed event had its
// effect, exactly once, in the order of its key? The tests print the time from the
// end of the fault until all events committed by then are handled.
//
// The servers are those of the MILLRACE_…_URL variables. The command in
// MILLRACE_RESTART kills them, given a server's name, so these tests run alone.
// scripts/matrix.sh does that.
package faulttest
