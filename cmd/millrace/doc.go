// Command millrace is the operator's tool: it creates the tables of Millrace's packages,
// shows the outbox and waiting rooms, lists and redrives dead letters on any transport,
// diagnoses servers, and measures how fast they are. docs/cli.md has every command, flag
// and JSON shape.
//
//	millrace migrate print|up|status    the tables of outbox, bus, idempotency, leases and counters
//	millrace outbox status|failing|failed|retry|adopt|rebase|debezium
//	millrace dlq list|show|edit|redrive|drop TOPIC
//	millrace group list|reset|delete    consumer groups on any transport
//	millrace replay                     deliver the events since a time to a group again
//	millrace queue status [EVENT…]      the state of waiting rooms and front gates
//	millrace queue threshold EVENT [N]  how many may be inside
//	millrace gate                       a waiting room in front of any site
//	millrace doctor [URL…]              the problems of these servers, and their fixes
//	millrace bench                      the speed of an outbox, a transport and a limiter there
//	millrace completion bash|zsh|fish|powershell
//
// Give URLs with --db, --bus and --redis, or in the environment, which the process list
// does not show: MILLRACE_DB_URL, MILLRACE_BUS_URL and MILLRACE_REDIS_URL. The tool shows
// URLs without user, password and parameters.
//
//	postgres://user:password@host:5432/name    database and transport
//	mysql://user:password@host:3306/name       database and transport; MySQL and MariaDB
//	sqlite://path, sqlite:///path              database and transport
//	kafka:// and every other URL of package allbus               a transport
//
// Results go to the standard output, as tables for people or with --json for programs;
// progress, questions and errors go to the standard error. Commands that cannot be undone
// ask first on a terminal, and otherwise require --yes.
//
//	exit code   meaning
//	0           done; doctor: nothing is wrong, there may be warnings
//	1           something is wrong, or not all could be done
//	2           the command line is wrong
//	130         interrupted: completed work stays, the rest is unchanged
//
// # Guarantees
//
//	property                                                      proven by
//	dlq works alike on every transport, and redriven messages
//	are handled once                                              TestDeadLetters
//	a dry run and a listing change nothing                        TestDeadLetters
//	an interrupted redrive loses nothing, reports its progress,
//	and ends with 130                                             TestInterrupted, TestCtrlC
//	nothing is dropped without --yes or an answer, nor what came
//	while the question was open                                   TestDropAsks
//	group works alike on every transport, and reports operations
//	that a transport does not support                             TestGroups, TestGroupUsage
//	a replay has no effect twice, and with --again one of each
//	event again, also after interruptions at each of its steps    TestReplay, TestReplayForgetsInRedis
//	a replay that is killed has not moved its group before all
//	keys are forgotten; the same command completes it             TestKilledReplay
//	a replay skips nothing that was not handled                   TestReplaySkipsNothing
//	migrations: print equals up, status creates nothing           TestMigrate, TestMigratePrint, TestMigrateCounters
//	the outbox is found with its own number of shards             TestOutbox
//	doctor reports problems, and their fixes                      TestUnreachable, TestRefused, TestSettings
//	doctor reports the oldest snapshot and its holder             TestSnapshots, TestOldSnapshots
//	doctor changes nothing                                        TestDoctorChangesNothing
//	a database that does not answer ends a command after 10 s     TestSilentDatabase
//	differing clocks are reported, also of two servers            TestClock, TestClocksOfServers
//	failing events that are still retried are listed, and status
//	points to the list                                            TestOutboxFailing
//	adopt asks, reports refusals and the next step, and one log's
//	refusal does not stop the others                              TestAdoptRefused, TestOutboxAdoptWhereNothingIsTo
//	many events are retried in steps with progress, and an
//	interruption leaves the rest parked                           TestOutboxRetryOfMany
//	queue shows and changes the application's own rooms, on a
//	Redis and a Cluster                                           TestQueue, package waiting
//	gate serves, reloads by SIGHUP without losing a place, drains
//	by SIGTERM, and outlives the reader of its log; a wrong flag
//	is named with its fix                                         TestGate, TestGateUsage, package gateway
//	bench works in a place of its own and removes it, also after
//	Ctrl-C and without a reader, and refuses an existing place    TestBench, TestCtrlCBench, TestBenchOutlivesItsReader, package bench
//	progress is drawn on a terminal, otherwise logged at a bounded
//	rate, and never on the standard output                        TestProgressLines, TestProgressDrawn, TestOutboxRetryOfMany
//	completion creates nothing, and takes a second at most        TestCompletionMakesNothing, TestCompletionIsBounded
//	no credential is ever shown                                   TestNoCredentials, package redact
//	the content of a letter cannot control the terminal           TestPlain
//	every command has an example that parses                      TestTree
//	JSON and tables stay as they are, and lists are never null    TestGolden, TestGoldenLetters, TestGoldenGroups, TestQueue, TestBenchShown
//	docs/cli.md names every command, flag and field               TestPageNamesEverything, TestPageShowsTheShapes
//
// # Failure modes
//
// Opening a SQL transport creates missing tables, as the application does. dlq show prints
// payloads, which may be personal data; logs and errors do not.
package main
