// Command millrace is the operator's tool: it makes the tables of Millrace's
// packages, looks into the outbox and into waiting rooms, looks after dead letters
// on any transport, says what is wrong with a server, and measures how fast it is.
// docs/cli.md has every command, flag and JSON shape.
//
//	millrace migrate print|up|status    the tables of outbox, bus, idempotency, leases and counters
//	millrace outbox status|failing|failed|retry|adopt|rebase|debezium
//	millrace dlq list|show|edit|redrive|drop TOPIC
//	millrace group list|reset|delete    consumer groups on any transport
//	millrace replay                     have a group get the events since a time again
//	millrace queue status [EVENT…]      how waiting rooms and front gates stand
//	millrace queue threshold EVENT [N]  how many may be inside
//	millrace doctor [URL…]              what is wrong with these servers, and what to do
//	millrace bench                      how fast an outbox, a transport and a limiter are there
//	millrace completion bash|zsh|fish|powershell
//
// URLs come by --db, --bus and --redis, or from the environment, where the
// process list does not show them: MILLRACE_DB_URL, MILLRACE_BUS_URL and
// MILLRACE_REDIS_URL. They are shown without user, password and parameters.
//
//	postgres://user:password@host:5432/name    database and transport
//	mysql://user:password@host:3306/name       database and transport; MySQL and MariaDB
//	sqlite://path, sqlite:///path              database and transport
//	kafka:// amqp:// amqps:// redis:// rediss:// sqs:// sns://   transports, as package bus opens them
//
// Results go to the standard output, tables for people or --json for programs;
// progress, questions and errors go to the standard error. What cannot be taken
// back asks first on a terminal, and elsewhere wants --yes.
//
//	exit code   meaning
//	0           done; doctor: nothing is wrong, there may be warnings
//	1           something is wrong, or not all could be done
//	2           the command line is wrong
//	130         interrupted: what was done stays done, the rest is as it was
//
// # What is promised
//
//	property                                                      proven by
//	dlq works alike on every transport, and what is redriven
//	is handled once                                               TestDeadLetters
//	a dry run and a listing change nothing                        TestDeadLetters
//	an interrupted redrive loses nothing, says how far it came,
//	and ends with 130                                             TestInterrupted, TestCtrlC
//	nothing is dropped without --yes or an answer                 TestDropAsks
//	group works alike on every transport, and says what one
//	cannot do                                                     TestGroups, TestGroupUsage
//	a replay has no effect twice, and one of each event again
//	with --again, also after interruptions at each of its steps   TestReplay, TestReplayForgetsInRedis
//	a replay that is killed has not moved its group before all
//	keys are forgotten; the same command completes it             TestKilledReplay
//	a replay skips nothing that was not handled                   TestReplaySkipsNothing
//	migrations: print equals up, status makes nothing             TestMigrate, TestMigratePrint, TestMigrateCounters
//	the outbox is found with its own number of shards             TestOutbox
//	doctor tells what is wrong, and the fix                       TestUnreachable, TestRefused, TestSettings
//	doctor tells the oldest snapshot and its holder               TestSnapshots, TestOldSnapshots
//	doctor changes nothing                                        TestDoctorChangesNothing
//	clocks that disagree are told, also of two servers            TestClock, TestClocksOfServers
//	what fails and is not given up yet is listed, and status
//	points to it                                                  TestOutboxFailing
//	adopt asks, says what it refuses and what to do then, and
//	one log's refusal does not hold up the others                 TestAdoptRefused, TestOutboxAdoptWhereNothingIsTo
//	many events are given back in steps, told of, and an
//	interruption leaves the rest parked                           TestOutboxRetryOfMany
//	queue shows and changes the application's own rooms, on a
//	Redis and a Cluster                                           TestQueue, package waiting
//	bench works in a place of its own, leaves nothing behind,
//	also after Ctrl-C, and refuses what is somebody's             TestBench, TestCtrlCBench, package bench
//	progress is drawn on a terminal, told at a bounded rate
//	elsewhere, and is never on the standard output                TestProgressLines, TestProgressDrawn, TestOutboxRetryOfMany
//	completion makes nothing, and asks for a second at most       TestCompletionMakesNothing, TestCompletionIsBounded
//	no credential is ever shown                                   TestNoCredentials, package redact
//	what a letter holds cannot command the terminal               TestPlain
//	every command has an example that parses                      TestTree
//	JSON and tables stay as they are, and lists are never null    TestGolden, TestGoldenLetters, TestGoldenGroups, TestQueue, TestBenchShown
//	docs/cli.md names every command, flag and field               TestPageNamesEverything, TestPageShowsTheShapes
//
// # Failure modes
//
// Opening a SQL transport makes its tables where they are missing, as the
// application does. dlq show prints payloads, which may be personal data; logs
// and errors do not.
package main
