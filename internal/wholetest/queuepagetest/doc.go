// Package queuepagetest tests the pages of package queuepage in headless Chromium, of
// CHROMIUM or in PATH. The table of package queuepage lists the properties that they
// prove.
//
// MILLRACE_REQUIRE_BROWSER=1 fails where there is no browser, instead of skipping.
// MILLRACE_SCREENSHOTS names a folder for pictures of all states, and
// MILLRACE_GALLERY=all takes them on six devices each. testdata/axe is axe-core
// 4.14.1 as npm pack axe-core@4.14.1 gives it, under the Mozilla Public License
// 2.0; it is part of the tests only.
package queuepagetest
