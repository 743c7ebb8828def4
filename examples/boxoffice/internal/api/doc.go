// Package api is the box office's JSON API.
//
// Errors are application/problem+json with a stable type under /problems/, a sentence
// that tells the user the next step, and members of their own where a program needs
// them (the taken seats, the expected amount, the field). The one exception is the
// answer to a request without a valid entry token, which has the form that the waiting
// room's clients expect:
//
//	403 {"error": "Queue entry token required", "redirectTo": "/queue"}
//	403 {"error": "Queue entry token invalid", "reason": "expired", "redirectTo": "/queue"}
//
// with the reasons malformed, wrong_algorithm, wrong_type, bad_signature,
// expired, not_yet_valid, wrong_event, wrong_user and, where something is changed,
// not_active: its owner has left the room since.
//
// A member has at most so many seats of a show as its limits say, held and bought: more
// are 409 seat-limit with the limit (held or bought), max, held, bought and remaining.
// GET /api/shows/{id}/allowance tells a member the same, without an entry token.
//
// Every answer has the request's id in X-Request-Id: the one that the request brought
// (1 to 128 letters, digits and -_.:/+=@), else the id of its trace, else a new one. The
// events that came of the request have it as their correlationid. See millrace.Wrap.
//
// A body is one JSON object of known fields and at most 1 MB. A payment needs
// an Idempotency-Key header of 1 to 128 letters, digits and -_.: characters.
//
// The waiting room is package queue's, its routes queue/queuehttp's, and those of
// the gate before it queue/frontgate's:
//
//	POST /api/queue/{check|heartbeat|leave|done}/{eventId}     a member's; GET …/status/{eventId}
//	PUT  /api/queue/admin/threshold/{eventId}  {threshold}     an operator's, like the following
//	POST /api/queue/admin/{pause|resume|clear}/{eventId}
//	GET  /api/queue/admin/status/{eventId}
//	GET  /api/queue/admin/{figures|plot}/{eventId}  by minute: CSV, a page
//	PUT  /api/queue/admin/shares/{eventId}     {shares}
//	PUT  /api/queue/admin/opening/{eventId}    {opens, beacon}; GET /api/queue/draw/{eventId} and
//	     …/leaves: what is published of its draw; GET /api/queue/receipt/{eventId}, a member's
//	POST /vwr/assign/{eventId}, GET /vwr/check/{eventId}/{requestId}     public
//	POST /api/admin/vwr/{activate|deactivate|advance}/{eventId}          an operator's
//	GET  /api/admin/vwr/status/{eventId}
//
// A check is 410 sold-out when every seat is sold; held seats may still become free.
// The routes /api/seats and /api/reservations need an entry token. Requests there that
// hold or return seats also ask the room whether the token's owner is still inside.
// Without the room's store nobody enters and these requests are 503; reads still work.
//
// Writing requests are bounded: once their bodies are here, at most 256 run at a time. The others
// wait in their order for up to 10 s and are then answered 503 with Retry-After, so that a crowd
// slows down requests and not the process.
//
// GET /api/shows and GET /api/shows/{id} need no sign-in: {id, title, commentCount,
// likeCount, viewCount, salesCount, seats: {total, available, held, sold}, startsAt,
// doorsAt, venue: {name, city, timeZone}, currency, prices: [{class, price}],
// performers: [{id, name}]}. Dates and venue are null while they are not known. Each
// seat of GET /api/seats/{eventId} has a class, and the price that prices name for it.
//
// Artists are 503 where they are not mirrored. Reading them needs no sign-in, and
// never waits for the artists' API:
//
//	GET  /api/artists/{id}                           the mirror's copy, and its freshness
//	GET  /api/artists/{id}/history?before=&limit=10  {changes: [{id, changedAt, snapshot}], next}, newest first, of 90 days
//	POST /api/artists/{id}/refresh                   a member's: 202 {status, lastCheckedAt, estimatedWaitMs};
//	                                                 404 when there is no such artist, 409 when it has just failed
//
// Members like, comment, follow and vote; each of these may be repeated but the
// comment, and all answer 204 that say nothing else. Lists and polls need no sign-in:
//
//	POST|DELETE /api/shows/{id}/like, GET /api/me/likes        {shows}
//	GET    /api/shows/{id}/comments?before=&limit=50           {comments: [{id, memberId, text, createdAt}]}, newest first
//	POST   /api/shows/{id}/comments                            {text}, 1 to 1,000 characters; 201 with the comment
//	DELETE /api/comments/{id}                                  one's own only
//	POST|DELETE /api/members/{id}/follow, GET /api/me/follows  {members}
//	GET    /api/shows/{id}/vote                                {open, options, counts, choice, closesAt, closedAt}
//	POST   /api/shows/{id}/vote                                {option}; again, to change it
//	POST   /api/shows/{id}/vote/close                          an operator's
//	POST   /api/shows/{id}/view                                public: counts a visit; 202
//
// A transfer is an offer until its receiver accepts it, and a ticket is scanned once:
//
//	POST /api/transfers                            a member's: {reservationId, toMemberId, amount, card}: an offer, and its payment; 202
//	GET  /api/me/transfers                         {transfers}: sent and received, newest first
//	POST /api/transfers/{id}/{accept|decline}      the receiver's
//	POST /api/transfers/{id}/withdraw              the sender's
//	GET  /api/me/memberships                       {price, memberships}
//	GET  /api/me/tickets/{id}/codes                {codes: [{ticketId, seatId, code, picture, usedAt}]}
//	GET  /api/tickets/keys                         public: the keys that verify codes, a JSON Web Key Set
//	POST /api/admin/scan                           an operator's, with an Idempotency-Key: {eventId, code}
//	                                               → {status: VALID|USED|REFUNDED|TRANSFERRED|OTHER_SHOW, ticketId, eventId, seatId, usedAt}
//
// Live streams are package live's. A browser opens one by a ticket, a program by its
// sign-in; a program that reconnects by itself names its tab, to be recognised:
//
//	POST /api/notifications/ticket                 a member's: {ticket, expiresAt}, for 30 s and one use
//	GET  /api/notifications/stream?ticket=         401 ticket-refused with a reason, such as expired or spent
//	GET  /api/notifications/stream?tab=            with the sign-in; the tab as it likes, 1 to 64 characters
//
// The inbox has a member's notifications; a room of the chat belongs to a show.
// Messages arrive on the socket in order, each once: the number seq of the last one
// says where to continue:
//
//	GET  /api/notifications?unread=&before=&limit=50  {notifications: [{id, type, params, message, refId, readAt, createdAt}], unreadCount, muted}
//	                                                  message in the reader's language: ?lang=, the cookie lang, or Accept-Language
//	POST /api/notifications/{id}/read                 one's own; again is harmless
//	POST /api/notifications/read                      {upTo}: this one and all that came before it; 204
//	PUT  /api/notifications/settings                  {muted}
//	GET  /api/rooms/{id}/messages?after=|before=&limit=50  {joined, messages: [{id, seq, senderId, message, sentAt}]}
//	POST /api/rooms/{id}/messages                     {text}, 1 to 1,000 characters; 202 {id}
//	POST|DELETE /api/rooms/{id}/join
//	GET  /api/rooms/{id}/ws?after=                    a WebSocket, with the sign-in or ?ticket=
//
// An operator handles consumer groups that have stopped, and dead letters:
//
//	GET  /api/admin/groups                        {groups: [{topic, group, lag, live}]}
//	POST /api/admin/groups/{topic}/{group}/reset  {to: "earliest"|"latest" or since, dryRun}: {again, skipped}
//
//	GET  /api/admin/dead-letters/{topic}          the letters, oldest first (?limit=100)
//	GET  /api/admin/dead-letters/{topic}/{id}     one, with its payload
//	PUT  /api/admin/dead-letters/{topic}/{id}     {payload, encoding: "utf-8"|"base64"}: another payload, 204
//	POST /api/admin/dead-letters/{topic}/redrive  {ids|all, dryRun, rate, before}
//	POST /api/admin/dead-letters/{topic}/drop     the same
//
// The last two work for 15 s at most. When that was not enough they answer
// {more: true, before}; the same request with that "before" goes on.
//
// An [API] is made of parts in [New]. Each part has the routes of one matter in its
// method mount, and no more fields than their handlers use. One guard stands before
// all: it identifies members and operators, bounds writing requests and turns errors into answers.
//
//	part              file             routes below
//	loginRoutes       login.go         /api/login
//	showRoutes        shows.go         /api/shows
//	artistRoutes      artists.go       /api/artists
//	waitingRoutes     queue.go         /api/queue; gate.go: /vwr, /api/admin/vwr
//	bookingRoutes     reservations.go  /api/seats, /api/reservations, /api/me/tickets
//	paymentRoutes     payments.go      /api/payments, /api/memberships; transfers.go: /api/transfers
//	ticketRoutes      tickets.go       /api/tickets, /api/admin/scan
//	inboxRoutes       inbox.go         /api/notifications
//	streamRoutes      live.go          /api/notifications/stream, and its tickets
//	socialRoutes      social.go        likes, comments, follows, votes and views
//	chatRoutes        chat.go          /api/rooms
//	reportRoutes      reports.go       /api/admin/ops, /api/admin/invariants
//	admissionRoutes   admissions.go    /api/admin/admissions
//	deadLetterRoutes  deadletters.go   /api/admin/dead-letters
//	groupRoutes       groups.go        /api/admin/groups
//
//	property                                                        proven by
//	every kind of bad input has its own clear answer                TestBadInput
//	a body over 1 MB is refused, on every route                     TestLargeBody
//	routes ask for sign-in, entry token and admin token             TestWhoMay, TestGateBadInput
//	the line: its order, threshold, pause, clear                    TestLine
//	a token is invalid for writes after leaving                     TestReplayAfterLeave
//	an outage of the room: 503 and Retry-After, reads work          TestRoomAway
//	over a member's limit of seats: which limit, the remainder      TestSeatLimit
//	sold out: no member lines up, members inside go on              TestSoldOut
//	no room and no gate is opened for an unknown event              TestQueueOfAnUnknownShow, TestGateBadInput
//	the gate's positions are the order of the line                  TestGate
//	tickets: codes, keys, scans; a used ticket stays used           TestTicketRoutes, TestTicketBadInput
//	transfers: only the right member decides, and only once         TestTransferRoutes
//	memberships: state, price, end                                  TestMembershipRoute
//	a payment's key: repeated, reused, missing                      TestPaymentKey
//	an error never shows internal details                           TestInternalError
//	too many writers wait, then get 503                             TestBusy
//	access to a stream, and the reason of each refusal              TestStream, TestStreamRefused
//	the inbox: only the member's own, pages, bad requests           TestRead, TestInbox, TestInboxBadInput
//	… in the language of its reader                                 TestInboxLanguage
//	shows have dates and prices, and each seat the price of its class
//	                                                                TestShowFacts
//	the chat: its members, pages, tickets of sockets                TestChat, TestRoomSocket
//	artists: bad ids, and no mirror, have their answers             TestArtistBadInput, TestArtistsOff (package app)
//	an artist's refresh, history and refusals                       TestArtistRefreshAndHistory (package app)
//	dead letters: every bad request has its own answer              TestDeadLetterErrors
//	groups: the reset as requested, and every refusal               TestGroups, TestGroupErrors
//	comments: length, pages, only the member's own                  TestCommentRoutes
//	likes, follows and votes have clear answers, and may be repeated
//	                                                                TestLikeAndFollowRoutes, TestVoteRoutes
//	a visit is counted on request, signed in or not                 TestViewRoute
package api
