// Package rawurl reads URLs that people write by hand, passwords in them, and shows
// no secret of one when something is wrong with it.
//
// The errors of net/url quote what they could not read, and that is a password
// whenever one has a character in it that was to be escaped. Drivers repeat what they
// were given. And some passwords make a URL that can be read, and means something
// else: in redis://:12/x@host the host is ":12". Such a URL is refused.
//
//	property                                                  proven by
//	no error shows any of the URL                             TestParseErrors, FuzzParse
//	what is taken names the host that was meant               TestParseErrors
//	a host is one, with a port                                TestAddress
//	an error of a driver shows no secret of the URL           TestHide, FuzzHide
//	what is shown of a URL is scheme, host and path           TestShow
//
// Failure modes: a password of one to three characters is hidden where it stands
// alone, since every word would be full of holes; a secret that a driver has changed
// before it repeats it (hashed, cut in half) is not known again.
package rawurl
