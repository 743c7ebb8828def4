// Package rawurl parses URLs that people write by hand, with passwords, and shows none of their
// secrets in errors.
//
// The errors of net/url quote the part they could not parse. That part is a password whenever a
// password contains a character that has to be escaped. Drivers repeat their URLs. And some
// passwords make a valid URL with another meaning: in redis://:12/x@host the host is ":12". Such
// a URL is refused.
//
//	property                                                  proven by
//	no error shows the URL                                    TestParseErrors, FuzzParse
//	an accepted URL names the intended host                   TestParseErrors
//	each host of a URL has a name and a port                  TestHosts
//	an error of a driver shows no secret of the URL           TestHide, FuzzHide
//	Show returns scheme, host and path                        TestShow
//
// Failure modes: a password of one to three characters is hidden only as a separate word, since
// otherwise parts of every word would be hidden; a secret that a driver changes before it
// repeats it (hashed, cut in half) is not recognised.
package rawurl
