// Package site is the web site of the box office: server-rendered pages, small
// plain ES modules and one style sheet per concern, all embedded in the binary.
// There is no build step; what is in templates/, static/ and locales/ is what
// the browser gets.
//
// The pages show what every visitor may see (shows, how many seats are left).
// What belongs to one member (seats, holds, payments, tickets) is fetched by
// the page's script from the JSON API under /api, with the bearer token that
// the sign-in gave. A page never guesses the outcome of a request that got no
// answer: it waits until the box office answers again and then asks for the
// state, and it repeats a payment only under the idempotency key that it used
// the first time.
//
// The waiting room, /queue/{eventId}, and the page of the gate before it,
// /vwr/{eventId}, are package queue/queuepage's: the same bytes for everybody, in the
// site's colours. The page of the seats says how long the place in the house lasts,
// keeps it while it is open, also in a hidden tab, and gives it back on request; so
// does the checkout once there is a ticket. A page that is closed gives nothing back,
// since a reload looks the same: the place ends by itself.
//
// The page of an artist is rendered with a number alone, since whether there is
// such an artist is known only after a while. Its script asks /api/artists/{id}
// until the artist is fresh, less and less often and not at all in a hidden tab,
// and says each change to screen readers.
//
//	property                                                   proven by
//	every page renders in every language                       TestPagesRender
//	every text exists in every language, with the same
//	placeholders, and every text that is used exists           TestCatalogsAgree, TestUsedKeysExist
//	no inline script or style runs; no foreign origin is used  TestContentSecurityPolicy, TestTemplatesHaveNoInlineCode
//	text that came from a user can't become markup             TestHostileTitle
//	a static file is cached for ever under its content's hash,
//	and a page never                                           TestStaticFiles, TestCacheHeaders
//	text has a contrast of at least 4.5 in both themes         TestContrast
//	the waiting pages: static, in the site's colours, and they
//	know where the site keeps sign-in and entry token          TestWaitingPages, TestBrand
//	/queue?event= leads to the room, and nowhere else          TestQueueLeadsToTheRoom
//	the seats are behind the gate; a gate that is away is a
//	page, and lets nobody pass                                 TestEdge, TestEdgeAway
//	the operator's page has what its scripts look for          TestOpsHasPlaces
//	a number leads to its artist without a script, and no
//	other address does                                         TestFindArtist, TestArtistPage
//	booking, decline, cancel, keyboard, language, kill -9 in
//	the middle of a payment                                    package browsertest
//
// What fails, and what is seen then:
//
//   - The backend can't list the shows: a 503 page with Retry-After, which
//     looks again by itself.
//   - The server is gone while a page is open: a banner says so, requests that
//     may be repeated wait and are repeated, and the page refreshes its state
//     when /healthz answers.
//   - The server is gone when a page is loaded: the service worker (sw.js, only
//     on https and on localhost) shows a waiting page that reloads the wanted
//     one when the server is back.
//   - A page of an older version asks for a static file: it is redirected to
//     the current one.
package site
