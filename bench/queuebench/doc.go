// Package queuebench measures the waiting room at a million people beside the
// plain design that teams write: how many polls and joins a second 64 callers get,
// what each costs Redis and the process, what a person costs in memory, and for
// how long an admission and a sweep block Redis at once.
//
//	millrace        queue.Room on redisqueue; a poll opens its ticket as well
//	plain scripts   three sorted sets (queue, seen, active) and one script for each
//	                thing that happens: lua/check.lua, admit.lua, purge.lua
//
// The lines are filled in batches, with ids of 16 bytes in no order, and are as
// long again at the end of each round. What a person costs is by how much INFO's
// used_memory has grown.
//
// Polls are those of all who wait, in an order that is drawn, once each, by a Room
// that has heard of nobody yet: each is a sign of life that Redis has to be told, as
// in a line whose people come once a minute. Telling the last of them is in the time
// that is measured, and the share that Redis was told is in the table: polls that
// nobody heard of would be cheap. A ticket is opened in each poll, as a server has
// to. The peer's client is go-redis with its defaults, as is ours but for its
// timeouts; both have the pool of Config.
//
// For the sweep some are not heard of for longer than the grace. The plain set
// gets their old times. In ours the bitmaps of the minutes until then are deleted,
// which is what happens to them when the grace is over, and all others are heard of
// again; the sweep then does what it does on any day.
//
// For how long Redis was blocked at once is by its own record, SLOWLOG: the longest
// script, during which it serves nobody. The goals are for the median of the rounds;
// the worst is beside it. A prober that sends one PING after the
// other says how long others wait in fact: on a machine that is busy with its
// clients too it is the more doubtful of the two, and would notice scripts between
// which nobody is served. Without a record the prober is the judge.
//
// Redis is a redis-server of its own on a free port of the loopback interface;
// where there is none in PATH, the one of Config.URL.
package queuebench
