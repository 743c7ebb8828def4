// Package chat has the chat rooms, one for each show.
//
//	sender ── Send ──▶ outbox ──▶ domain_events ─┬─▶ chat_persist_queue ── chat_messages ──┐ bell
//	                   (key: the room)           │                                         ▼
//	                                             │                            feed of the room ──▶ open sockets
//	                                             └─▶ chat_fanout_queue ──┬── bell ─────────▲
//	                                                                     └── live streams of members
//
// Two workers with queues of their own read the same messages. One stores: it gives
// each message the next place in its room. The other sends a `chat` event to the live
// streams of all members that joined the room. Neither waits for the other, so an
// alert may arrive a moment before its message is stored, and a message that cannot
// be stored has been announced.
//
// An open socket shows the stored messages, in the order of the places. No worker
// sends it a message: a bell only says that a room has something new. Each process
// reads a room with open sockets once for all of them, from the last place that it
// has sent. The place is assigned under a lock on the room that lasts until the
// commit, so a reader that sees a place sees all before it. So the order of the
// workers does not matter, and a bell may be lost, late or repeated: the next bell,
// or a look every Config.Look, finds the new messages. A socket that opens reads from
// its place on until it is where the feed is, and follows the feed from there.
//
// A sender holds the room's row until the commit, so of two messages of a room one
// is committed first, and that is the order in which the outbox has them.
//
//	property                                                  proven by
//	in each room the order of the commits is that in which
//	messages are stored, alerts are sent and sockets read,
//	on each transport                                         TestOrder
//	a message that comes twice is stored and sent on once     TestOrder, TestPlacesHaveNoGap
//	places have no gap, after any failure                     TestPlacesHaveNoGap, TestDeadLetters
//	an unstorable message is a dead letter; redriven, it is
//	stored once, after the messages that passed it            TestDeadLetters
//	only members that joined send                             TestOnlyWhoJoinedSends
//	a message is text, and not too long                       TestText, TestNoMessage
//	sockets that come and go have everything once, also
//	when all bells are lost                                   TestNoGapAndNothingTwice
//	a client that does not read is cut, and delays no other   TestStalledSocketHurtsNobody, TestAWriteHasADeadline
//	a client that is gone is cut                              TestSilentSocketIsFound
//	pages of other sites open no socket                       TestWhoMayOpenASocket
//	an end states the reason, and where to continue           TestGoodbyes
//	processes get each other's messages by Redis, and
//	without it a look later                                   TestTwoProcesses, TestRedisAway
//	alerts wait in a bounded queue, which is emptied at the
//	end                                                       TestAlertsAreBounded, TestAlertsAtTheEnd
//	every metric is there from the start, and moves           TestCollector, TestCollectorOfRefusals,
//	                                                          TestAlertsAreBounded
//	a stream that reconnects has the missed events, in order
//	by room                                                   TestReplay, TestReplayKeepsTheOrder
//	… and how much is left out, up to 1,000 of a room         TestReplayCountsWhatItLeavesOut, TestReplayer
//	the lateness of messages in open rooms is measured        TestSocket
//
// # A socket
//
// A socket is opened with ?after=, the place up to which the client has everything,
// or without it for new messages only. Frames are JSON text:
//
//	{"type":"message","id":…,"seq":…,"senderId":…,"message":…,"sentAt":…}
//	{"type":"ready","after":…}        all that was stored has been sent; now as it happens
//	{"type":"accepted","id":…}        the answer to {"text":…}; the message itself follows
//	{"type":"refused","problem":{…}}  the other answer
//
// Answers come in the order of the posts, and a client that posts much waits for
// them. The server closes with the reason and the place to reconnect with, as in
// "the server ends; after=57":
//
//	1003  a frame that is no text             1011  the room cannot be read
//	1009  a frame that is too long            1012  the process ends, or the socket is old: reconnect
//	                                          1013  too slow: reconnect
//
// A client whose connection does not accept even that is cut without a close frame.
//
// # Failure modes
//
// During an outage of the database nothing is accepted, sockets wait, and those that
// open are closed with 1011. During an outage of Redis, sockets of other processes
// than the one that stores are late by Config.Look, and alerts are dropped and
// counted.
//
// An alert is sent at most once: a process that is killed after the commit does not
// send it. A stream that reconnects is sent exactly the later messages of the room of
// its cursor. Of the member's other rooms it is sent the messages since a few seconds
// before the cursor, since their workers are not in step: an alert may arrive twice,
// with the same id. The two workers are further apart only during a failure; messages
// missed then are in the room.
//
// A redriven message comes after newer ones, and is not announced again.
package chat
