// Package mirrorrun is the command "boxoffice mirror-run": it runs the artist
// mirror at its budget for a minute and measures it end to end.
//
//	upstream (a process of its own, 300 KB bodies, bans at 501 calls in a second)
//	   ▲ as many calls as the budget of 450/s lets
//	office (in this process): API, workers, prefetch, on the database, transport and Redis of the flags
//	   ▲ reads that want a refresh (high), and prefetch (low): together more than the budget
//
// First the mirror carries that load for --seconds. Then the load ends, and reads are
// timed for --rest each: without a fault, while every publish takes a second, and
// during an outage of Redis.
//
//	property                                                  proven by
//	the upstream sees no window above its limit, or exit 1    TestMirrorRun, TestWindowsAboveTheLimit
//	both priorities reach the upstream, high turns fresh      TestMirrorRun
//	reads are answered while the broker is slow or Redis away TestMirrorRun, TestOnServers
//	figures are those that were measured                      TestMean, TestBound
//	wrong flags are refused with the fix                      TestBadFlags
//
// Goals of speed that are missed are shown and do not fail the run: they depend on
// the machine. A window above the limit, a read that fails and a refresh that
// never comes do.
//
// Failure modes: on a machine that has less than the budget needs, the upstream's
// process may be stopped for so long that calls arrive bunched together; it counts
// the arrivals, and can tell that no better. The run changes artists in the
// database it is given; give it one of its own.
package mirrorrun
