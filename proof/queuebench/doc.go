// Package queuebench measures the waiting room at a million people beside the plain
// design that teams write: the polls and joins a second for 64 callers, their costs
// for Redis and the process, the memory of a person, and for how long an admission
// and a sweep block Redis at once.
//
//	millrace        queue.Room on redisqueue; a poll opens its ticket as well
//	plain scripts   three sorted sets (queue, seen, active) and one script for each
//	                thing that happens: lua/check.lua, admit.lua, purge.lua
//
// The lines are filled in batches, with ids of 16 bytes in no order, and have the
// same length again at the end of each round. The cost of a person is the growth of
// INFO's used_memory.
//
// Polls are those of all waiting people, in a random order, once each, by a new
// Room: each is a sign of life that Redis has to be told, as in a line whose people
// poll once a minute. The measured time includes the last signs of life, and the
// table shows the share that Redis was told: polls without signs of life would be
// cheap. A ticket is opened in each poll, as a server has to. The peer's client is
// go-redis with its defaults, as is ours but for its timeouts; both have the pool of
// Config.
//
// For the sweep some people are silent for longer than the grace. The plain set
// gets their old times. In ours the bitmaps of the minutes until then are deleted,
// as at the end of the grace, and all others poll again; the sweep then has the
// same work as on any day.
//
// How long Redis was blocked at once is by its own record, SLOWLOG: the longest
// script, during which it serves no other command. The goals are for the median of
// the rounds; the worst is beside it. A prober that sends one PING after the other
// measures the real waits of others: on a machine that is busy with its clients too
// it is the less certain of the two, but it would notice scripts between which no
// other command is served. Without a record the prober is the judge.
//
// Redis is a redis-server of its own on a free port of the loopback interface;
// where there is none in PATH, the one of Config.URL.
package queuebench
