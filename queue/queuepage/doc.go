// Package queuepage is the page on which visitors wait: for their turn in a waiting
// room (package queue), or at a front gate (package queue/frontgate). It is one
// document without assets or a framework, so it works on a machine that serves
// nothing else, and from caches: the page is the same for every event and visitor.
//
//	page, err := queuepage.New(queuepage.Config{
//		SignIn: "/login?next={here}",
//		Brand:  queuepage.Brand{Title: "Paper Lantern Tickets", Home: "/"},
//	})
//	…
//	mux.Handle("GET /queue/{eventId}", page)
//
// # Requests and answers
//
// A room: POST Config.Check, and while it is the visitor's turn Config.Heartbeat,
// every nextPoll:
//
//	{status: "queued"|"active"|"none", position, peopleAhead, peopleBehind, nextPoll, keep,
//	 estimatedWait, estimatedWaitLow, estimatedWaitHigh,
//	 currentUsers, threshold, paused, settling, ticket, expiresIn, entryToken}
//
// Times are in seconds; estimatedWait is null when it is not known. keep is how long
// the place is kept without a poll, which the page tells; without it the page tells
// Config.Keep. The ticket
// comes back in the header x-queue-ticket. POST Config.Leave takes the visitor out.
//
// A gate: POST Config.Assign, once for a browser, and GET Config.Check:
//
//	{requestId, position}
//	{admitted, position, servingCounter, nextPoll, estimatedWait, paused}
//
// Without estimatedWait the page measures how fast the counter moves. After a check
// that is answered with 400, 403, 404 or 410 the page asks for a new number.
//
// Any answer may have redirectTo: a local path to go on at; words: a text for the
// waiting visitor, by language; and of a room challenge: a question of package
// challenge, which Config.Solver answers. Else:
//
//	401                                     sign in
//	a type that ends with sold-out          sold out
//	404 with JSON, 410                      no such event, the sale has ended
//	408, 429, 5xx, no JSON, no answer       the page keeps its content, says so, and tries again
//	anything else                           an error, with a button to try again
//
// ?next= in the page's own address is where to enter, ?lang= the language, ?event=
// the event where the page is mounted without it in the path.
//
// # Guarantees
//
//	property                                                  proven by
//	one document, the same bytes for all, cacheable           TestPageIsTheSameForAll, TestHeaders, TestRevalidation, TestGzip
//	in place of another page: 503, and stored by no cache     TestServeInPlace
//	runs and loads nothing but its own content                TestPolicyMatches, TestBrowserPolicy
//	at most 40 KB, and 14 KB packed: the first flight of TCP  TestFootprint
//	names and brands are text, never markup                   TestBrandIsText, TestBrowserEventNames
//	a brand that cannot be read is refused                    TestConfigErrorsNameTheFieldAndTheFix
//	goes on within this site only, never in circles           TestBrowserStraightIn, TestBrowserEnds, TestBrowserToAndFro
//	reload keeps place, bar and estimate                      TestBrowserReload, TestBrowserGate
//	the bar never goes back, but for a new place              TestBrowserReload, TestBrowserNewPlace
//	the estimate is a calm range                              TestBrowserCalmEstimate
//	places taken are shown while they are known, not else     TestBrowserPlaces
//	never polls faster than it is told, hidden once a
//	minute, at once when it is due and seen again             TestBrowserHidden, TestBrowserLine
//	without an answer: says so, keeps the place, backs off
//	with jitter, honours Retry-After, recovers by itself      TestBrowserBusy, TestBrowserAnswersThatAreNone, TestBrowserOffline
//	a phone whose tab is hidden for ten minutes keeps the
//	place, and is told the turn                               TestBrowserAsleepForTenMinutes
//	the title and the icon tell the place                     TestBrowserLine, TestBrowserIcon
//	the screen stays on while the line is seen                TestBrowserAsleepForTenMinutes
//	asks for notifications on a click only, and works
//	without them and without the screen's lock                TestBrowserAsleepForTenMinutes, TestBrowserOutOfReach
//	the program without its spaces is the same program        TestSqueeze
//	enters by itself only while the page is visible           TestBrowserTurn, TestBrowserTurnByHand
//	a challenge is answered by a worker, over http too, and
//	by waiting where that is too slow, or its script hangs    TestBrowserProof, TestBrowserProofTime, TestBrowserSolverHangs
//	the words of a problem are shown in their language        TestBrowserTooManyJoins
//	a turn that has passed is announced                       TestBrowserTurnPassed
//	understands a room and a gate as they are                 TestBrowserTwoPeopleOnePlace, TestBrowserThroughTheGate
//	leaving is asked twice and is not undone by a reload      TestBrowserLeave, TestBrowserGateLeave
//	one number for a browser; a lost one is replaced          TestBrowserGate, TestBrowserGateLost,
//	                                                          TestBrowserGateKeepsNothing
//	a screen reader hears milestones, each once, and why a
//	place is a new one                                        TestBrowserLine, TestBrowserReload, TestBrowserPause,
//	                                                          TestBrowserNewPlace, TestBrowserGateLost
//	axe finds nothing in any state, nothing is cut off from
//	320 px on, light and dark                                 TestBrowserGallery, TestBrowserPlainBrand,
//	                                                          TestBrowserAxeFinds
//	English and Korean are complete                           TestLanguagesSayTheSame, TestTextsAreUsed, TestBrowserLanguages
//	works without storage; without scripts the page says
//	that they are needed                                      TestBrowserWithoutStorage, TestBrowserWithoutScript
//
// # Failure modes
//
// A browser that refuses storage forgets the bar and a gate's number at reload; the
// room knows its user. One that refuses cookies is sent to and fro between gate and
// room; the page ends that after six times in 20 s.
//
// A new place is announced when the position is a quarter, and 50, above where the
// visit began: the visitor was away for too long, or the room was cleared.
//
// A closed page keeps its place for as long as the line keeps it; the page and
// Config.Keep only display that time. A phone that stops a hidden tab altogether stops
// its polls as well. Some browsers, as those of Android, show no notification of a page
// without a service worker: title and icon tell the turn there.
//
// # Tests
//
// The tests named TestBrowser… are in internal/wholetest/queuepagetest, to keep a
// browser's driver out of the module graph of applications.
package queuepage
