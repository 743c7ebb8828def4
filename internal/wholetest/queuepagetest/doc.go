// Package queuepagetest tests the pages of package queuepage in headless Chromium, of
// CHROMIUM or in PATH. The table of package queuepage lists the properties that they
// prove.
//
// MILLRACE_REQUIRE_BROWSER=1 fails where there is no browser, instead of skipping.
// MILLRACE_SCREENSHOTS names a folder for pictures of all states, and
// MILLRACE_GALLERY=all takes them on six devices each.
package queuepagetest
