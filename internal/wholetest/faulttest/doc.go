// Package faulttest breaks real servers under a whole flow and checks that
// nothing shows: writers append events in their transactions, relays publish
// them, two consumers of one group write their effects, and meanwhile a broker
// is killed, a database is killed, connections are cut or slow, consumers come
// and go, leaders move. It holds tests only.
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
// effect, exactly once, in the order of its key? The time from the end of the
// fault until everything committed by then is handled is printed.
//
// The servers are those of the MILLRACE_…_URL variables. They are killed by the
// command in MILLRACE_RESTART, which is given a server's name, so these tests
// run alone. scripts/matrix.sh does that.
package faulttest
