// Package browsertest drives the box office through a real browser, headless
// Chromium: booking, a declined card, cancelling, booking by keyboard alone,
// both languages, a kill -9 in the middle of a payment, an artist that becomes fresh by
// itself, the plot of the budget, waiting rooms under an operator's hand, and the
// members' actions: notifications, live in several tabs, chat, comments, likes and
// votes. It has tests only.
//
// The tests named TestOffice… build and start examples/boxoffice with a fresh
// data folder. Those named TestPages… use a box office in memory, which can be
// put into states that the real one reaches only now and then. All share one browser,
// each with a profile of its own, and two run at a time unless -parallel says how many.
//
//	variable                    meaning
//	CHROMIUM                    the browser to use; else chromium, chromium-browser, google-chrome or chrome in PATH
//	MILLRACE_REQUIRE_BROWSER=1  fail where no browser is found, instead of skipping
//	MILLRACE_SCREENSHOTS        folder for the screenshots; unset: only of tests that fail, in a temporary folder
//	MILLRACE_GALLERY=all        every page in both themes and both languages, on a phone and on a desktop; unset: each
//	                            of these choices once
package browsertest
