// Package site is the web site of the box office: server-rendered pages, small plain ES
// modules and one style sheet per concern, all embedded in the binary. There is no build
// step: the browser gets the files of templates/, static/ and locales/ themselves.
//
// The pages show the public facts (shows, how many seats are left). A member's own data
// (seats, holds, payments, tickets) is fetched by the page's script from the JSON API
// under /api, with the bearer token that the sign-in gave. A page never guesses the
// outcome of a request that got no answer: it waits until the box office answers again
// and then asks for the state, and it repeats a payment only under the idempotency key
// that it used the first time.
//
// The waiting room, /queue/{eventId}, and the page of the gate before it,
// /vwr/{eventId}, are package queue/queuepage's: the same bytes for all visitors, in the
// site's colours. The page of the seats says how long the place in the house lasts,
// keeps it while it is open, also in a hidden tab, and gives it back on request; so
// does the checkout once there is a ticket. A page that is closed gives nothing back,
// since a reload looks the same: the place ends by itself.
//
// A date is shown in the language of the page, by the clock of the venue. The page of a
// show names that clock. The page of a show links to its artists, and the page of an
// artist to the shows in which the artist is to play.
//
// A notification is a type and parameters. The page makes a sentence of them in its own
// language (notices.js), with the texts that the API uses (package notices).
//
// The page of an artist is rendered with a number alone, since whether there is
// such an artist is known only after a while. Its script asks /api/artists/{id}
// until the artist is fresh, less and less often and not at all in a hidden tab,
// and says each change to screen readers.
//
// Signed-in members have a bell on every page. The page reads the inbox first and then
// opens one EventSource on /api/notifications/stream, by a ticket, so that repeated
// events of the stream do not count as news; the stream's position is passed on to the
// next page. A tab that the office has evicted says so and stays away until its user
// wants the stream; one that is hidden for half a minute gives its place back. Without a
// stream the inbox is read now and then. News is said politely and can be read in the
// panel afterwards; muted, nothing pops up. All is marked as read in one request, up to
// the newest that the panel shows; the member's other tabs follow.
//
// The page of a show has likes, comments, a vote and a chat, and its numbers move. The
// chat is joined by opening it, and left by a button, in all tabs at once. Its messages
// arrive by a WebSocket, each once and in order: missing ones are asked for by the
// number of the last one, and while no socket opens everything is asked for every few
// seconds. A message that got no answer is not sent again: it may have arrived. While
// the chat is closed, chat events of the stream mark unread messages.
//
// My tickets opens to the QR code of each seat, which is drawn from the API's answer:
// a code stands in no address, since addresses are logged. The page for the door judges
// a code by the office, and while that does not answer by its public keys, which it
// fetched when it opened; it then says that only the office knows whether the ticket was
// used, refunded or transferred. It reads QR codes by the camera where the browser can.
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
//	the seats are behind the gate; in an outage the gate is a
//	page, and admits nobody                                    TestEdge, TestEdgeAway
//	the operator's page has the elements of its scripts        TestOpsHasPlaces
//	a date is in the page's language and by the venue's clock,
//	and a price in the currency of its show                    TestMoment, TestMoney, TestShowSaysWhenAndWhere
//	an artist's page has the shows to come                     TestComingShows
//	only the page for the door may use the camera              TestCamera
//	a number leads to its artist without a script, and no
//	other address does                                         TestFindArtist, TestArtistPage
//	a payment keeps its key until it is taken or refused       TestKeyedPayments
//	a scan of a ticket does the same                           TestKeyedScans
//	the inbox lists and announces by time, within a second too  TestInboxKeepsTheOrderOfTimes
//	every page has the bell, and a show's page the elements
//	of its scripts                                             TestBellEverywhere, TestShowHasPlaces
//	booking, decline, cancel, keyboard, language, kill -9 in
//	the middle of a payment; a transfer and a scan by
//	keyboard; notifications in every tab,
//	eviction, chat, comments, likes, votes                     package browsertest
//
// Failure modes:
//
//   - The backend can't list the shows: a 503 page with Retry-After, which
//     retries by itself.
//   - The server is gone while a page is open: a banner says so, requests that
//     may be repeated wait and are repeated, and the page refreshes its state
//     when /healthz answers.
//   - The server is gone when a page is loaded: the service worker (sw.js, only
//     on https and on localhost) shows a waiting page that reloads the wanted
//     one when the server is back.
//   - There are no live streams: the panel says so, the inbox is read every 15 s and
//     when the tab is looked at, and the stream reconnects by itself.
//   - A stream is silent for three pings: it is opened again.
//   - No WebSocket gets through: the chat says that messages come every few seconds.
//   - A page of an older version asks for a static file: it is redirected to
//     the current one.
package site
