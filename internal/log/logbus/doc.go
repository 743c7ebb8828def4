// Package logbus has the parts that the transports sqlite://, postgres:// and mysql:// share: a
// driver.Driver over the log of package log and the hub of package logsub, with a directory of
// topics, groups and members in SQL.
//
// A transport's package adds the parts that depend on the database: the pools, the log, the
// schema, the statements of the directory, the classification of the driver's errors, and the
// wake-ups between processes. The URLs and settings of database servers are the same. Its sql
// folder has
//
//	topics.sql        all topics: name, first lane, partitions, retention in µs
//	topic.sql         the same of one: name
//	lock_topics.sql   lets one transaction at a time make a topic; optional
//	ensure_topic.sql  make a topic, or take over a retention: name, partitions, µs
//	groups.sql        groups with all cursors: first lane, lane after the last, how many
//	beat.sql          a member lives: topic, group, member, µs
//	bury.sql          removes members whose time is over
//	members.sql       live members in the order they joined: topic, group
//	leave.sql         topic, group, member
//	position.sql      of a cursor, as in log.Position: group, lane
//	forget.sql        removes a cursor whose lease is held: group, lane, token
//	forget_starts.sql removes the records of its starts: group, lane
//	browse.sql        newest of a lane: lane, rows
//	browse_new.sql    the same for rows without a place; optional
//
//	property                                                      proven by
//	the conformance suites                                        sqlitebus, pgbus, mysqlbus: TestConformance
//	Publish joins the application's transactions, if they are of
//	the same database and no other                                logbustest: Transactions, OtherDatabase
//	where Append is one statement, Publish is one round trip      TestAppend
//	opening sends nothing; the first use migrates                 bustest: AnAbsentServerIsWaitedFor
//	a half-opened transport closes its resources                  TestOpenFails
//
// Package logbustest checks the guarantees between processes, with the same tests for every
// transport.
package logbus
