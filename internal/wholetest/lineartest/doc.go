// Package lineartest checks that a coalescer's answers are linearizable: that
// concurrent calls of many instances are answered as if each had happened at one
// moment between its call and its return, by the table of package coalesce.
//
//	property                                                    proven by
//	a correct store passes, with and without expiry             TestLinearizable
//	a store that looks and then acts is caught                  TestBrokenStoresAreCaught
//	histories that break the table are refused                  TestModelRefuses
//	histories that only expiry explains need expiry             TestModelRefuses
package lineartest
