// Package queuehttp serves a waiting room over HTTP, and guards the routes behind
// it.
//
//	h, err := queuehttp.New(room, entries, queuehttp.Config{
//		User:  signedIn, // the user of a request
//		Known: catalog.Exists,
//	})
//	…
//	h.Mount(mux, "/api/queue", adminOnly)
//	mux.Handle("GET /api/seats/{eventId}", h.Guard(queuehttp.GuardConfig{})(seats))
//	mux.Handle("POST /api/reserve/{eventId}", h.Guard(queuehttp.GuardConfig{Writes: true})(reserve))
//
// Check, Heartbeat and Status answer 200 with
//
//	status          "queued", "active" (may be inside) or "none"
//	queued          whether status is "queued"
//	position        in line, from 1; 0 for users not in line, as are the next two
//	peopleAhead     position - 1
//	peopleBehind
//	estimatedWait   seconds; null when it is not known, as while paused
//	estimatedWaitLow, estimatedWaitHigh
//	                seconds: the wait is probably between them; only when it is known
//	nextPoll        seconds until the next poll, with random jitter: 1.073
//	keep            seconds for which a place in line is kept without a poll
//	currentUsers    places taken
//	threshold       how many places there are
//	queueSize       how many users wait
//	entryToken      of an active user, else null
//	expiresIn       seconds until the place of an active user ends
//	ticket          only when it is a new one
//	turn            true when the turn of a waiting user has come: the next free place is theirs
//	soldOut         true while the event has no stock left: the line waits for returns
//	returner        true for a user back at a kept place: position is that among the returners
//	paused          whether the operator has stopped admission
//	settling        seconds until admission goes on after the room lost its data
//	opensIn         seconds until the room opens; only before that: position is 0
//	gated           true, with redirectTo, when the front gate has to be passed first, or
//	                the position was used and there is no Config.NewPosition
//
// Leave and Done answer 204. Requests that fail are answered with a [Problem].
//
// # Other routers
//
// The handlers and the guard read the event from r.PathValue("eventId"), which
// http.ServeMux and chi fill. With echo, gin and others, hand the router's own
// parameter over before the guard:
//
//	r.SetPathValue("eventId", c.Param("eventId")) // echo, gin: r is the context's request
//
// or call [Handlers.AdmitWrite] in the handler with the event that it knows. A route
// whose value has another name gives the guard a function:
//
//	h.Guard(queuehttp.GuardConfig{Event: func(r *http.Request) string { return r.PathValue("id") }})
//
// # Cookies and headers
//
//	value         cookie                       header                 lasts
//	entry token   urr-entry-token-<event>      X-Queue-Entry-Token    as the place, at most 600 s
//	ticket        urr-queue-ticket-<event>     X-Queue-Ticket         24 h
//	edge's pass   -                            X-Queue-Pass           30 s
//	answer to a   urr-queue-challenge-<event>  X-Queue-Challenge      as package challenge says;
//	challenge                                                         the application sets the cookie
//
// Cookies are HttpOnly, SameSite=Strict, and Secure on https; characters of an
// event's id that a cookie's name cannot hold are escaped as %XX. If a request has
// the header, the cookie is not read. None of the values is ever read from a URL.
//
// The ticket keeps a place in line, and makes a poll cost no call of the store.
// The entry token opens the guard. It names the admission it was made for, so that
// a guard of writes refuses it when its user has left, also after coming back.
//
// A trusted edge signs the requests that it lets through: see [token.Pass] for
// the recipe, with a secret that only the edge and this program have. A pass
// replaces the entry token for guarded reads, not for guarded writes.
//
// # Guarantees
//
//	property                                                   proven by
//	one place, two people: the second enters when the
//	first leaves                                               TestTwoPeopleOnePlace
//	no token, or an empty one, is 403 with the stated body     TestGuardRefuses
//	forged, expired, swapped, other user's, other event's,
//	none, RS256 and HS384 are 403 with the reason              TestGuardRefuses
//	the header wins over the cookie without falling back       TestGuardRefuses, TestTicketSavesTheStore
//	a token is good for no write after leaving                 TestReplayAfterLeave
//	a token ends with its place                                TestTokenEndsWithThePlace
//	the mere presence of an edge's header changes nothing      TestEdgePass, TestEdgePassBehindAStrippedPrefix
//	a target of ?next= stays on the site                       TestSafeNext, FuzzSafeNext
//	an address joins within its rate; a /64 is one address;
//	polls in line and inside are never refused                 TestJoinRate, TestJoinRateByNetwork, TestUsualJoinRate,
//	                                                           TestJoinRateWithAForeignTicket
//	a challenge is turned on and off while it runs, and asks
//	newcomers alone; a join counts once for its address        TestChallengeIsTurnedOn, TestChallengeAndRate, TestChallengeAsks
//	an operator turns it on for an event in all processes      TestOperatorsSwitchTheChallenge
//	a client's address is not faked by a header                TestClientBehindProxies, FuzzClient
//	the store away: 503 with Retry-After, no one enters, and
//	every user keeps the place                                 TestStoreAway
//	a poll with a ticket costs no call of the store            TestTicketSavesTheStore
//	cookies are as stated, for any event's id                  TestCookies, TestHostPrefixIsTheOnlyOne, TestCookieOfAnyEvent
//	… and none is set with Config.NoCookies                    TestNoCookies
//	only real events get a room; a crowd asks for them once    TestUnknownEvents, TestKnownIsAskedOnce
//	an outage of the catalog does not stop the line            TestCatalogAway, TestClassify
//	an event that is over admits no one, all may leave         TestEventsThatAreOver
//	a user without a position is sent to the gate              TestGate
//	… and with a used one gets another, behind all             TestUsedPosition
//	a route without an event's id lets no one in, says so in
//	an answer of its own, and is logged once                   TestRoutesWithoutAnEvent, TestRoutersWithoutPathValues
//	an operator's mistake is named by its field                TestThresholdNamesTheField
//	a draw is served as it is published, and each user's
//	receipt                                                    TestDraw
//	an opening that makes no sense is named by its field       TestOpeningRefuses
//	figures by minute as CSV and as a plot without scripts     TestFigures, TestNoFigures
//	answers are JSON with all fields                           TestAnswerIsJSON, TestStateIsJSON, TestAnswerHasAllFields
//
// # Failure modes
//
// The store is unreachable: polls, leaving and guarded writes are answered with 503
// and Retry-After; guarded reads go on, by the token alone. Cookies stay, so that
// the next poll that succeeds finds the place kept.
//
// Config.Known fails: known events stay known, others are refused, with 503 when
// the error's class is infrastructure and 500 else. A removed event stays known for
// up to KnownFor. Known is called each time for ids that are not real: a signed-in
// user can cause that cost.
//
// An entry token stays valid for reads after its user has left or was taken out,
// until it expires; use Writes for routes where that must not happen.
//
// The store of the limiter of [JoinRates] is away: package keyed counts in each process
// alone, and joining goes on. To refuse a crowd would cost its people their order for
// good; to count in each process lets an address join that many times more.
//
// Clocks that differ: a token is made with the time of the process; package token
// documents the tolerance elsewhere.
package queuehttp
