// Package gate puts a waiting room in front of a site that knows nothing of it: as a
// reverse proxy, or as the judge that another proxy asks about each request.
//
//	g, err := gate.New(room, gate.Config{
//		Event:  "sale",
//		Keys:   keys,
//		Origin: &url.URL{Scheme: "http", Host: "127.0.0.1:3000"},
//		Pass:   []string{"/static/**", "/robots.txt"},
//	})
//	…
//	h, err := g.Handler()
//	…
//	err = http.ListenAndServe("127.0.0.1:8080", h)
//
// The room is one of package queue, and needs a running [queue.Room.Run]. The command
// millrace gate is this package as a program; docs/gate.md is its manual.
//
// # Requests
//
//	request                               without a place
//	OPTIONS, an asset (Config.Pass)       goes on to the origin
//	a navigation: GET or HEAD, takes      503 with the waiting page and Retry-After
//	HTML, Sec-Fetch-Dest document,
//	iframe, frame or absent
//	anything else                         429 with Retry-After and a problem
//	a path that can be read in two ways   400
//
// A visitor with a place may send any request, under any path. The status of the
// waiting page is 503, so that search engines keep what they know of the page behind
// it and monitors see that visitors wait. A load balancer that takes a server out
// because of 503s must not count these.
//
// A visitor is a browser, by a signed cookie, or a member, by Config.Member. The first
// navigation sets that cookie and takes no place; the page's first poll, or the next
// navigation, does. So a crawler or a monitor that keeps no cookies never fills the room.
// A navigation of an admitted visitor is answered with 303 to its own address and the
// pass, which is valid until the place ends.
//
//	cookie                 holds                       lasts
//	millrace-visitor       the visitor, signed         30 days
//	millrace-pass-<event>  an entry token of           as the place
//	                       package token
//
// Both are HttpOnly, SameSite=Lax, Secure on https, set one at a time, and by
// navigations only.
//
// # Paths
//
// A path is decoded once; steps of dots are resolved and empty segments dropped.
// Patterns are also matched against the path as it came, and without the dots and
// spaces at the ends of segments that Windows drops. A request passes without a place
// only if it may in every reading, and never with a ;parameter. Escaped slashes,
// backslashes, control characters, "?" and "#" within a path, text that is escaped
// twice, "..." and ".." beyond the root or beside an empty segment are answered with
// 400. The origin gets the path as the visitor sent it.
//
// Prefer folders to endings for Config.Pass: some programs serve /pay for
// /pay/x.css. If the origin ignores case, list what passes rather than what waits.
//
// # The origin
//
// Each request to the origin carries X-Millrace-Event, X-Millrace-User (absent or empty
// when the request needs no place), X-Millrace-Time and X-Millrace-Signature. What a
// visitor sends under these names is removed. A Go program checks them with
// [NewVerifier], others by this recipe, and refuse a time further than 30 s from now:
//
//	signature  <key id>.<base64url of HMAC-SHA256(key, text)>
//	text       method, host, path with query as the origin gets them, event, user, seconds since
//	           1970, joined by line feeds
//	key        HMAC-SHA256(secret, "millrace/queue/origin")
//	key id     the first 4 bytes of HMAC-SHA256(key, "id"), in hexadecimal
//
// # Guarantees
//
//	property                                                  proven by
//	a visitor waits, enters in turn, and is out when the
//	place ends                                                TestJourney, TestLastSecondOfAPlace
//	each kind of request gets the stated answer               TestWithoutAPlace, TestWaitPatterns
//	a path that passes is no waiting path to any origin that
//	cleans it                                                 FuzzPath, TestPathsOfOddParts, TestReadPath
//	patterns match in bounded time                            TestPatterns
//	with a place the site is as without the gate: folders,
//	uploads, streams, sockets, 100 MB                         TestSiteAsWithout, TestInsideAnyPath
//	a connection does not change to HTTP/2 or TLS, whose
//	requests no gate would see                                TestNoUpgradeToHTTP, TestJudgeForOthers
//	early hints, trailers, 100-continue, long headers,
//	methods and the host pass as they are                     TestProtocolAsWithout
//	visitors may come by HTTP/2                               TestOverHTTP2
//	bodies pass without being stored                          TestLargeBodiesInBoundedMemory
//	a pass is worth something for its visitor and event only  TestPassOfAnother, TestVerified
//	a browser without cookies takes no place                  TestWithoutCookiesNoPlace
//	what is published of a draw can be read without cookies   TestDrawWithoutCookies
//	cookies are as stated                                     TestCookies
//	an open stream keeps its visitor's place                  TestOpenStreamsCountAsInside
//	requests of visitors inside cost few calls of the store   TestRequestsInsideCostFewCalls
//	the origin can tell what came through the gate            TestOriginIsTold, TestOriginWithAPathIsTold
//	caches of others store nothing that needs a place         TestCacheBeforeTheGate
//	nginx gets 200 or 401 and nothing else                    TestJudgeForNginx
//	Envoy gets 200, or an answer for the visitor below 500    TestJudgeForEnvoy
//	other proxies get 200, or the answer for the visitor      TestJudgeForOthers, TestJudgeOfAHead
//	an outage of the origin: 502, and places are kept         TestOriginAway
//	an outage of the store: no visitor enters, and those
//	inside go on                                              TestStoreAway
//	a buyer who comes back from another site is still inside  TestBrowserBackFromTheBank
//	four tabs have one place, a shared link brings none       TestBrowserFourTabs, TestBrowserSharedLink
//	a visitor whose cookie is gone is told so, and gets a new
//	place at the end                                          TestBrowserClearedCookie
//	an address joins within its rate, and visitors in line
//	and inside go on                                          TestJoinRate, TestJoinRateBehindAProxy
//	while the challenge is on a new browser answers first     TestChallenge
//	a member has one place in all browsers, and a lane         TestMember, TestLane
//	… and keeps the place of before the sign-in                TestSignInWhileWaiting, TestMemberWhileTheStoreIsAway
//	wrong settings are named with their fix                   TestConfigErrorsNameTheFieldAndTheFix
//
// The real nginx, Caddy, HAProxy, Envoy and Traefik play the journey in package deploy, with a real
// cache before the gate and paths of odd parts before nginx. The tests named TestBrowser… are in
// internal/wholetest/queuepagetest.
//
// # Failure modes
//
// The store is unreachable: navigations without a pass get the page, whose polls are
// answered with 503 until the store is back. A pass is valid until its end.
//
// A visitor leaves or is taken out: the process that served the departure refuses the
// pass at once, others within Config.AliveEvery.
//
// A place ends while a stream is open: the gate does not cut the stream, and the room
// does not count it any more. Behind a [Gate.Judge] the gate sees no streams: their
// visitors have to make a request within queue's Config.Seen.
//
// A frame of another site sends no cookies: the page stays in it. Nor does a form of
// another site: a bank that sends buyers back by POST needs the path of that form in
// Config.Pass. The page that it redirects to gets the cookies.
//
// A program with the secret can make passes. One that verifies by the recipe
// needs the derived key alone, which makes none.
package gate
