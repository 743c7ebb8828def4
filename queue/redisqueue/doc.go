// Package redisqueue keeps waiting rooms in Redis or a Redis Cluster, so that all
// processes serve one line.
//
//	store, err := redisqueue.New(client, redisqueue.Config{})
//
//	property                                             proven by
//	all that a store promises, on Redis and a Cluster    TestConformance
//	eight instances with leaves, admissions and a
//	threshold that changes: no user is lost or there
//	twice, admissions stay below the threshold, a user
//	that came after another's answer is behind that one  TestCrowd
//	the same while the server is killed and starts again
//	with its data (appendfsync always)                   TestCrowdOverRestarts
//	after a flush users with a valid ticket have the old
//	places, and no user enters before                    TestFlush
//	a replica that takes over has the line               TestClusterPromotion
//	a server with older data shows the data it has       TestOlderData
//	a replica without the last writes gives no order out
//	again, and their users have their places back        TestPromotionLosesNoPlace, TestPromotionUnseen
//	the line stands when the clock steps forward a
//	little, or back at all                               TestClockSteps, TestStepBackHoldsTheSweep,
//	                                                     TestStepBackWhileSettling
//	positions are exact in a call that changes the line  TestPlacesWithinACall
//	a lost script is sent again                          TestLostScripts
//	a room that the release before this one kept opens   TestARoomOfTheReleaseBefore
//	places that a release before this one reserved are
//	places, beside it no turn costs a user the place     TestReservedByAnOlderRelease, TestATurnThatAnOlderReleaseEnded
//	Redis unreachable: calls fail as infrastructure      TestDown
//	a Redis user without rights gets a list of them      TestForbidden
//	keys have the names below and go by themselves       TestKeys, TestKeysOfLanes, TestActiveKeys, TestPausedStays
//	an event in use is in the registry                   TestRegistry
//	figures by minute add up, and end by themselves      TestFigures
//	at most 160 bytes a head                             TestLongLine, BenchmarkMillion
//	a client that repeats calls or waits is refused      TestNew
//
// One script makes each transition, by Redis' own clock, with declared keys of one slot.
// The scripts lie in lua/ as they run, made of parts that they share (scripts/glue). They
// are proven on Redis 7.0. Arguments and answers are packed binary, which miniredis does
// not support.
//
// # Keys
//
//	key                     type    data                                     bytes a head
//	{event}:queue           ZSET    order -> user, all in line               125
//	{event}:waiting         STRING  bitmap: which orders wait                0.2
//	{event}:seen:<minute>   STRING  bitmap: orders alive from then on        0.2 each
//	{event}:versions        ZSET    version -> block that changed            0.1
//	{event}:slots           HASH    where the bits of 65,536 orders are      0.01
//	{event}:used            STRING  bitmap: orders of a front gate or of an
//	                                earlier epoch that were taken            0.2 of these
//	{event}:runs            ZSET    last -> first order of the ranges given
//	                                out before the orders jumped             -
//	{event}:active          ZSET    expiry in ms -> user                     of those inside
//	{event}:active-seen     ZSET    last sign of life in ms -> user          of those inside
//	{event}:turns           ZSET    order -> taker, -order -> silent user;
//	                                of a returner the order * 2^54           of those entitled
//	{event}:reserved        ZSET    ms -> entitled user: when silent or over of these
//	{event}:entry           HASH    user -> order and times                  of these and those inside
//	{event}:missed          ZSET    those entitled, and no-shows that may
//	                                still come back                          of these
//	{event}:returners       ZSET    order -> user that came back              125 of these
//	{event}:returners-seen  ZSET    last sign of life in ms -> user          125 of these
//	{event}:kept            STRING  bitmap: orders that may come back        0.2 of all
//	{event}:lane:<name>     ZSET    order -> user of the lane                125 of these
//	{event}:laned           ZSET    order -> entitled user by a lane          125 of these
//	{event}:lanes           STRING  what is due to lanes and returners; a room without it
//	                                has none, and looks at none of these keys
//	{event}:stays           STRING  how long users stay inside, 1,032 bytes
//	{event}:room            STRING  all numbers of the room, 320 bytes
//	{event}:threshold       STRING  the operator's threshold, decimal
//	{event}:settings        STRING  which version of the operators' settings it has, their shares of lanes, and the challenge
//	{event}:draw            HASH    a draw: its holder, root, seed and beacon
//	{event}:leaves          STRING  the leaves of a draw                     32 of these
//	{event}:figures:<hour>  HASH    figures of 60 minutes, some 30 kB        -
//	queue:active-events     SET     the registry, in another slot
//
// Measured with users of 16 bytes, a million waiting users take 133 bytes each in
// all keys. Keys expire 24 to 25 h after the last call for the event, seen:* after
// Rules.Seen, figures:* after 13 h. The threshold, and a room that is paused or behind a
// gate, stay: they may be set for a day to come. So does a room that opens at a time; draw
// and leaves are kept for seven days. A seen:* key is for a minute, and for more where
// Rules.Seen is above an hour: a sweep may be as late as that.
//
// # Orders and bits
//
// The queue is the only key with names. Orders are dense within an epoch and far
// apart between epochs, so a segment of 65,536 orders has a slot in the bitmaps,
// given out when its first order lines up. Blocks of the bitmap that change are
// stamped with a version, and a look is the blocks above the version that is known.
//
// # How long a script blocks Redis
//
// Each script is bounded: 200 visits, 125 admissions, 250 removals, 256 blocks of a look,
// 200 moves or 2,000 leaves of a draw.
// Where the interface allows more in a call, it is several scripts: an admission may be
// followed by others before the next of its call, and visits of two scripts may have those
// of others between them. Clearing a room unlinks it, and Redis frees the memory in the
// background. BenchmarkMillion prints how long each takes in a line of a million: in the
// mean 0.4 to 1.8 ms where others kept both processors busy.
//
// # Failure modes
//
// Redis unreachable, slow, loading, read-only or out of memory: every call fails
// with [fault.Infrastructure], and whether it was carried out is unknown. A retry
// is safe: a user in line keeps the position. A user whose turn or place came by an
// answer that was lost gets no notice of it, and sees it with the next poll.
//
// Data that Redis loses is lost. appendfsync always keeps all answered calls.
// everysec, or a replica that takes over, may lose a second: users who came in it
// line up by their tickets, once, before all later users. A script that serves
// visits compares the server's replication id (INFO replication) with that of the
// last one, and goes on 2^20 higher on another server. A restart, a slot that
// moved, or a master's first replica looks the same and costs nothing. Some
// managed servers show no id (State.Servers is 0): then the orders go on above
// those that the calling process has seen, so an order may be given out again by a
// process that has not seen it, in the second before its first look. Its first
// owner, by ticket, then has the place shown, and goes to the end at the other's
// turn. Without its data the room begins an epoch, and users with a valid ticket
// form the line again. Thresholds and pauses are lost with it,
// unless queue.Config.Settings keeps them elsewhere. Set
// maxmemory-policy noeviction: an eviction takes single keys out of a room.
//
// The clock of Redis set back: users inside stay for longer, and no sweep removes
// anyone for Rules.Seen. Set forward by more than Rules.Seen, or unreachable with
// its data for as long: there were no signs of life, and the next sweep removes all
// users without one since. After an outage let the users of the line poll before you
// call Sweep.
//
// While two masters answer for one slot, on the two sides of a broken network, each
// has a line: bound that with min-replicas-to-write.
package redisqueue
