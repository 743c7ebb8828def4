// Package bench measures an operator's own servers for a few seconds each: how
// fast an outbox takes and gives events there, how fast a transport carries
// messages, and how fast a Redis decides about a limit.
//
// Everything is done in a place of its own, which is made first and removed at the
// end: a schema, a database, a file, a topic with its group, or a few keys, all of
// one name. Where anything of that name is there already, nothing is done.
//
//	property                                                       proven by
//	all that was made is gone at the end                           TestOutbox, TestTransport, TestLimiter
//	… and after an interruption at any step                        TestInterrupted, TestCtrlCBench
//	what is there of the name is refused and left as it is         TestTaken
//	two runs at once: one is refused                               TestTaken
//	a run is bounded in time, in rows and in memory                TestOutbox, TestTransport, TestLatencies
//	latencies are those of one clock, this machine's               TestOutbox
//	the payloads are made up, and nothing of the application is
//	read                                                           by construction
//
// # What is measured
//
//	outbox     callers append ten events in a transaction each; then a relay with the
//	           defaults drains what is there into a publisher that does nothing; then
//	           100 events a second are appended one by one beside the running relay:
//	           from the commit to the publisher
//	transport  100 messages a second, one by one: from before Publish to the handler;
//	           then callers publish a hundred messages each, and a group handles them
//	limiter    one caller, then many, ask for one call as fast as they are answered
//
// These are figures of a moment, of this machine's network and of what else the
// servers do. The publisher of the outbox does nothing, so a relay is as fast as the
// slower of outbox and transport.
//
// # Failure modes
//
// A run that is killed (kill -9, a lost machine) leaves its place behind. The next
// run refuses to start, and says by which statement it is removed.
package bench
