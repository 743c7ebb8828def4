// Package redisqueue keeps waiting rooms in Redis or a Redis Cluster, so that all
// processes serve one line.
//
//	store, err := redisqueue.New(client, redisqueue.Config{})
//
//	property                                             proven by
//	all that a store promises, on Redis and a Cluster    TestConformance
//	eight instances with leaves, admissions and a
//	threshold that changes: nobody is lost or there
//	twice, nobody is admitted above the threshold, who
//	came after another was answered is behind them       TestCrowd
//	the same while the server is killed and starts again
//	with its data (appendfsync always)                   TestCrowdOverRestarts
//	after a flush those with a ticket stand as they
//	stood, and nobody enters before                      TestFlush
//	a replica that takes over has the line               TestClusterPromotion
//	a server with older data shows what it has           TestOlderData
//	the line stands when the clock steps forward a
//	little, or back at all                               TestClockSteps, TestStepBackHoldsTheSweep,
//	                                                     TestStepBackWhileSettling
//	places are exact in a call that changes the line     TestPlacesWithinACall
//	a lost script is sent again                          TestLostScripts
//	Redis away: every call fails, as infrastructure      TestDown
//	a user who may not is told what to allow             TestForbidden
//	keys have the names below and go by themselves       TestKeys, TestActiveKeys, TestPausedStays
//	an event in use is in the registry                   TestRegistry
//	at most 160 bytes a head                             TestLongLine, BenchmarkMillion
//	a client that repeats calls or waits is refused      TestNew
//
// One script makes each transition, by Redis' own clock, with declared keys of one
// slot. The scripts lie in lua/ as they run, made of parts that they share (scripts/glue).
// They are proven on Redis 7.0; what is told and answered is
// packed binary, which miniredis does not have.
//
// # Keys
//
//	key                     type    what                                     bytes a head
//	{event}:queue           ZSET    order -> user, all who wait              125
//	{event}:waiting         STRING  bitmap: which orders wait                0.2
//	{event}:seen:<minute>   STRING  bitmap: who was heard of from then on    0.2 each
//	{event}:versions        ZSET    version -> block that changed            0.1
//	{event}:slots           HASH    where the bits of 65,536 orders are      0.01
//	{event}:used            STRING  bitmap: orders of a front gate or of an
//	                                earlier epoch that were taken            0.2 of these
//	{event}:runs            ZSET    last -> first order of what was given
//	                                out before the orders jumped             -
//	{event}:active          ZSET    expiry in ms -> user                     of those inside
//	{event}:active-seen     ZSET    last sign of life in ms -> user          of those inside
//	{event}:reserved        ZSET    expiry in ms -> user, not seen yet       of those admitted
//	{event}:entry           HASH    user -> order and times                  of those inside
//	{event}:missed          ZSET    no-shows who may still come back         of these
//	{event}:room            STRING  all numbers of the room, 320 bytes
//	{event}:threshold       STRING  what the operator has set, decimal
//	queue:active-events     SET     the registry, in another slot
//
// Measured with users of 16 bytes, a million who wait take 133 bytes each in all
// keys. Keys go by themselves 24 to 25 h after the last call for the event, seen:*
// after Rules.Seen. The threshold, and a room that is paused or behind a gate, stay:
// they may be set for a day to come. A seen:* is for a minute, and for more where
// Rules.Seen is above an hour: a sweep may be as late as that.
//
// # Orders and bits
//
// The queue is the only key with names. Orders are dense within an epoch and far
// apart between epochs, so a segment of 65,536 orders has a slot in the bitmaps,
// given out when its first order lines up. Blocks of the bitmap that change are
// stamped with a version, and a look is the blocks above the version that is known.
//
// # How long Redis is held
//
// Each script is bounded: 200 visits, 125 admissions, 250 removals, 256 blocks of a
// look. Where the interface allows more in a call, it is several scripts: an
// admission may be followed by others before the next of its call, and visits of two
// scripts may have those of others between them. Clearing a room unlinks it, and the
// memory is freed beside. BenchmarkMillion prints how long each takes in a line of a
// million: in the mean 0.4 to 1.8 ms where others kept both processors busy.
//
// # Failure modes
//
// Redis unreachable, slow, loading, read-only or out of memory: every call fails
// with [fault.Infrastructure], and whether it was carried out is unknown. Asking
// again is safe: who is in line stays where they are. Who was admitted by an answer
// that was lost gets no notice of it, and sees it with the next poll.
//
// What Redis loses is lost. appendfsync always keeps all that was answered;
// everysec, or a replica that takes over, may lose a second: those who came in it
// are at the end when they come again, and an order may be given out again. Without
// its data the room begins an epoch, and those with a ticket form the line again.
// Thresholds and pauses are lost with it. Set maxmemory-policy noeviction: an
// eviction takes single keys out of a room.
//
// The clock of Redis set back: those inside stay for longer, and no sweep removes
// anybody for Rules.Seen. Set forward by more than Rules.Seen, or away with its data
// for as long: nobody was heard of, and the next sweep removes all who have not been
// since. Whoever calls Sweep should let the line be heard of first, once it has been
// away.
//
// While two masters answer for one slot, on the two sides of a broken network, each
// has a line: bound that with min-replicas-to-write.
package redisqueue
