// Package logbus is what the transports sqlite://, postgres:// and mysql:// have
// in common: a bus.Driver over the log of package log and the hub of package
// logsub, with a directory of topics, groups and members in SQL.
//
// A transport's package adds what its database knows: the pools, the log, the
// schema, the text of the directory's statements, how the driver's errors are
// judged, and how processes wake each other. Its sql folder has
//
//	topics.sql        all topics: name, first lane, partitions, retention in µs
//	topic.sql         the same of one: name
//	lock_topics.sql   lets one transaction at a time make a topic; optional
//	ensure_topic.sql  make a topic, or take over a retention: name, partitions, µs
//	groups.sql        groups with all cursors: first lane, lane after the last, how many
//	beat.sql          a member lives: topic, group, member, µs
//	bury.sql          removes who does not any more
//	members.sql       live members in the order they joined: topic, group
//	leave.sql         topic, group, member
//	position.sql      of a cursor, as log.Position has it: group, lane
//	forget.sql        removes a cursor whose lease is held: group, lane, token
//	forget_starts.sql removes what is kept of its starts: group, lane
//	browse.sql        newest of a lane: lane, rows
//	browse_new.sql    the same of what has no place in it yet; optional
//
//	property                                                      proven by
//	the conformance suites                                        sqlitebus, pgbus, mysqlbus: TestConformance
//	Publish joins the application's transactions, if they are of
//	the same database and no other                                logbustest: Transactions, OtherDatabase
//	where Append is one statement, Publish is one round trip      TestAppend
//	errors have a class and a sentinel                            TestTranslate
//	opening asks the database nothing; the first use migrates     bustest: AnAbsentServerIsWaitedFor
//	a half-opened transport closes what was opened                TestOpenFails
//
// What processes owe each other is in package logbustest, which runs the same
// checks for every transport.
package logbus
