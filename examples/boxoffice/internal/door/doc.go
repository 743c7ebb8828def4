// Package door stands before everything that a process of the box office serves. It
// knows nobody: what it looks at is the request's form, the page that it comes from
// and the address.
//
//	request target   8 KB at most, text without control characters
//	other sites      pages of other sites cannot write here, whatever cookies the
//	                 browser has; programs, which send no origin, can
//	addresses        what costs something before anybody has signed in, and what asks
//	                 for the operator's token, has a rate for each address
//	answers          say what browsers may make of them
//
// The address is that of the connection. Behind proxies it is the last one in
// X-Forwarded-For that is none of theirs: what a client writes there itself stands
// before what the proxies add, and is never looked at. Addresses of version 6 count by
// their first 64 bits, which one subscriber has. Connections of the machine itself are
// not bounded: name the proxy that runs there, and who is behind it is.
//
//	property                                                        proven by
//	a target that is too long or no text is refused                 TestTarget, FuzzTarget
//	pages of other sites cannot write                               TestOtherSites
//	an address has its rate and its burst, and no more              TestRate
//	addresses do not take from each other; memory is bounded        TestManyAddresses
//	an address is not faked by a header                             TestAddress, FuzzAddress
//	what is costly is bounded on all of its routes                  TestCostly
//	a proxy that ends TLS is believed, and nobody else              TestHTTPS
//	every answer has the headers, and may have stricter ones        TestHeaders
//
// Failure modes: who shares an address shares its rate; a large network behind one
// address needs a higher one. Two of 65,536 addresses may share a place in the table of
// rates. A process counts for itself: behind n of them an address has n times the rate.
package door
