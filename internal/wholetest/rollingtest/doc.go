// Package rollingtest upgrades a service while it works: processes of an older release and
// of this tree run side by side on the same outbox, transport and group, first with the
// old ones alone, at the end with the new ones alone, and back. make rolling runs it.
//
//	property                                                     proven by
//	nothing is lost, and each key keeps its order                TestRollingUpgrade
//	the way back works, too, where the tables allow it           TestRollingUpgrade
//	on PostgreSQL the first new process takes the outbox and the
//	transport over: older ones append, and publish and handle
//	nothing any more                                             TestRollingUpgrade
//	a line of people in Redis is admitted in its order, never
//	more than the threshold, also on the way back                TestRollingRoom
//	both releases share one limit                                TestRollingLimit
//
// The programs in testdata are built with both releases, so they use only features of both;
// what the releases write differently is in newer.go and older.txt.
package rollingtest
