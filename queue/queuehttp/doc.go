// Package queuehttp serves a waiting room over HTTP, and guards what lies behind
// it.
//
//	h, err := queuehttp.New(room, entries, queuehttp.Config{
//		User:  signedIn, // who a request comes from
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
//	position        in line, from 1; 0 for who is not in it, as the next two
//	peopleAhead     position - 1
//	peopleBehind
//	estimatedWait   seconds; null when it cannot be said, as while paused
//	nextPoll        seconds until the client is to ask again, with chance in it: 1.073
//	currentUsers    places taken, inside and reserved
//	threshold       how many there are
//	queueSize       how many wait
//	entryToken      of who is active, else null
//	expiresIn       seconds until the place of who is active ends
//	ticket          only when it is a new one
//	paused          whether the operator has stopped admission
//	settling        seconds until admission goes on after the room lost its data
//	gated           true, with redirectTo, for who has to pass the front gate first
//
// Leave and Done answer 204. What cannot be served is a [Problem].
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
// # What travels where
//
//	what          cookie                       header                 lasts
//	entry token   urr-entry-token-<event>      X-Queue-Entry-Token    as the place, at most 600 s
//	ticket        urr-queue-ticket-<event>     X-Queue-Ticket         24 h
//	edge's pass   -                            X-Queue-Pass           30 s
//
// Cookies are HttpOnly, SameSite=Strict, and Secure on https; what the name of a
// cookie cannot hold of an event's id stands as %XX. A header that is there is
// what counts, and the cookie beside it is not looked at. Nothing of this is ever
// read from a URL.
//
// The ticket keeps a place in line, and makes a poll cost no call of the store.
// The entry token opens the guard. It names the admission it was made for, so that
// a guard of writes refuses it when its user has left, also after coming back.
//
// A trusted edge that has let a request through by itself signs it: see
// [token.Passes] for the recipe, with a secret that only the two of you have. A
// pass stands in for the entry token where the guard reads, not where it writes.
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
//	a target of ?next= stays on the site                       TestSafeNext, TestNext, FuzzSafeNext
//	the store away: 503 with Retry-After, nobody enters, and
//	everybody keeps the place                                  TestStoreAway
//	a poll with a ticket costs no call of the store            TestTicketSavesTheStore
//	cookies are as stated, for any event's id                  TestCookies, TestHostPrefixIsTheOnlyOne, TestCookieOfAnyEvent
//	only real events get a room; a crowd asks for them once    TestUnknownEvents, TestKnownIsAskedOnce
//	a catalog that is away does not stop the line              TestCatalogAway, TestClassify
//	what is over takes nobody in, and lets everybody out       TestEventsThatAreOver
//	who did not pass the gate is sent there                    TestGate
//	a route without an event's id lets nobody in, says so in
//	an answer of its own, and is logged once                   TestRoutesWithoutAnEvent, TestRoutersWithoutPathValues
//	an operator's mistake is named by its field                TestThresholdNamesTheField
//	answers are JSON with all fields                           TestAnswerIsJSON, TestStateIsJSON, TestAnswerHasAllFields
//
// # Failure modes
//
// The store is away: polls, leaving and guarded writes are answered with 503 and
// Retry-After; guarded reads go on, by the token alone. No cookie is taken away,
// so that the next poll that succeeds finds the place kept.
//
// Config.Known fails: events that were known go on to be, others are refused, with
// 503 when the error's class is infrastructure and 500 else. An event that is
// taken away is known for up to KnownFor. Ids that are not real are asked for each
// time: what Known costs is what a signed-in user can make it cost.
//
// An entry token stays valid for reads after its user has left or was taken out,
// until its end; guard with Writes what must not be.
//
// Clocks that differ: a token is made with the time of the process, and is valid
// elsewhere as package token says.
package queuehttp
