// Package live has the live streams of the box office: access to them, their first
// events, and the [sse.Hub] that carries them.
//
//	streams, err := live.New(secret, shared, live.Config{Replayers: …, Rooms: …, Muted: …})
//	go streams.Run(ctx) // where streams are served
//	…
//	ticket, expires, err := streams.Ticket(member) // POST /api/notifications/ticket
//	…
//	tab, err := streams.Tab(w, r) // GET /api/notifications/stream?ticket=…
//	err = streams.Serve(w, r, tab)
//	…
//	err = streams.Hub().ToMember(ctx, member, event)
//
// The state that all processes share is in Redis ([Redis]) or, for one process, in
// its memory ([Memory]). A process that does not Run serves no streams; its events
// reach the streams of the others.
//
// # Tickets
//
// An EventSource cannot send custom headers, and a sign-in does not belong into an
// address. So a page asks for a ticket by its sign-in, and puts that into the
// address. It is good for 30 s, and for one use, which sets a cookie. Since the
// browser comes back to the same address whenever the stream ends, a used ticket is
// good again with the cookie:
//
//	ticket                  with the cookie             without
//	new                     a stream                    a stream, and the cookie
//	used, or over its 30 s  the same tab's stream, or   401
//	                        204 when it was evicted
//	changed, or of another  401                         401
//	secret
//
// The ticket names the tab: its id is the stream's token, by which package sse
// recognises an evicted tab. The cookie says that this browser has used a ticket of
// the member; it is HttpOnly, SameSite=Strict, goes to the stream only, and is good
// for tickets of that member alone. One cookie serves all tabs, whichever opens
// first. A reader of an old ticket in a log has no cookie.
//
// Both are signed by keys of their own made from BOXOFFICE_SECRET, and nothing is
// stored of them, but for the one thing that no signature can say: that a ticket that
// is still good was used. That is one key in Redis for a minute
// (<prefix>sse:ticket:{id}), so that a ticket has its one use over all processes.
//
// # Rooms and mute
//
// Rooms and mute are read before a stream opens, and again once it is registered: a
// room that a member joins while the stream opens is sent to all streams, and this
// one may not have been registered by then. They are read again after an outage of
// the broker, since changes meanwhile were sent to no stream.
//
//	property                                                   proven by
//	a ticket is good once, for 30 s, at all processes           TestTickets, TestATicketIsGoodOnce
//	a ticket or cookie that was changed is refused              TestChangedTokens
//	a ticket and a cookie never pass for each other, nor a
//	sign-in for one                                            TestTokensOfAnotherKind
//	a cookie is good for its member's tickets only             TestTheCookieIsTheMembers
//	the cookie is kept from scripts and other sites            TestTheCookie
//	a tab that reconnects with ticket and cookie goes on
//	without a gap or a duplicate                               TestAfterACut
//	the fourth tab ends the first, which stays away            TestTheFourthTab
//	… and four tabs that reconnect by themselves come to rest  TestFourTabsComeToRest
//	two processes on one Redis are one                         TestTwoProcesses
//	without Redis streams end with the inbox's address, and
//	tickets are issued; all reconnects by itself               TestRedisAway
//	rooms and mute that change while a stream opens count      TestWhatChangesWhileAStreamOpens
//	an outage of the database ends a stream with the inbox's
//	address                                                    TestWhatCannotBeRead
//	an end closes all streams and leaves no goroutine          TestDrain, TestMain
//	every series is there from the start, and moves            TestCollectors
//
// # Latency
//
// live_latency_seconds{kind} is the time from the commit of an event until it was
// written to a browser's connection: of notifications and chat events on the streams,
// and of messages in open rooms. It begins when the event was made, right before the
// commit, by the clock of the process that made it, and ends by the clock of the process
// with the connection: clocks that differ add to it or take from it, down to 0.
//
// # Failure modes
//
// During an outage of Redis: package sse describes the effect on streams. Tickets are
// issued; a ticket used meanwhile opens nothing, since an earlier use cannot be
// checked, and the browser comes back. Without the cookie its 30 s may be over then,
// and it is answered 401: the page asks for another ticket. The answer of Redis may
// also be lost after it has noted the use, with the same end.
//
// Redis loses its data: a ticket that was used within the last 30 s can be used
// once more, without the cookie.
//
// Clocks: a ticket is good for 5 s longer, since those of two processes may differ.
// The cookie ends after 24 h, as a sign-in does; a tab that is open for longer
// needs a new ticket when its stream ends. Signing out closes no stream and takes
// no cookie away: a page closes its own stream.
package live
