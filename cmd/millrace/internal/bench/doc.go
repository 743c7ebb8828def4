// Package bench measures an operator's own servers for a few seconds each: how fast an
// outbox appends and publishes events there, how fast a transport carries messages, and how
// fast a Redis decides about a limit.
//
// Each measurement works in a place of its own, which is created first and removed at the
// end: a schema, a database, a file, a topic with its group, or a few keys, all of one
// name. If something of that name exists already, the measurement does not start.
//
//	property                                                       proven by
//	everything that was created is removed at the end              TestOutbox, TestTransport, TestLimiter
//	… and after an interruption at any step                        TestInterrupted, TestCtrlCBench
//	an existing place of the name is refused and unchanged         TestTaken
//	two runs at once: one is refused                               TestTaken
//	a pooler that leads to the application's own tables is refused TestPooler
//	a run is bounded in time, in rows and in memory                TestOutbox, TestTransport, TestLatencies
//	latencies are those of one clock, this machine's               TestOutbox
//	the payloads are made up, and no data of the application is
//	read                                                           by construction
//
// # Measurements
//
//	outbox     callers append ten events in a transaction each; then a relay with the
//	           defaults publishes the backlog to a publisher that does nothing; then
//	           100 events a second are appended one by one beside the running relay:
//	           from the commit to the publisher
//	transport  100 messages a second, one by one: from before Publish to the handler;
//	           then callers publish a hundred messages each, and a group handles them
//	limiter    one caller, then many, ask for one call as fast as they are answered
//
// The results depend on the moment, on this machine's network and on the servers' other
// load. The publisher of the outbox does nothing, so a relay is as fast as the slower of
// outbox and transport.
//
// # Failure modes
//
// A run that is killed (kill -9, a lost machine) leaves its place behind. The next run
// refuses to start, and prints the statement that removes the place.
package bench
