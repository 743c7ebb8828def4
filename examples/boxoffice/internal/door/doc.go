// Package door applies the ingress limits of a box office process, before all its
// routes. It identifies no member: it checks the request's form, the page that it comes
// from and the address.
//
//	request target   8 KB at most, text without control characters, no part of the path
//	                 ends with a space
//	other sites      pages of other sites cannot write here, even with the browser's
//	                 cookies; programs, which send no origin, can
//	addresses        costly requests before the sign-in, and requests with the
//	                 operator's token, have a rate for each address
//	answers          restrict their use in browsers
//
// The address is that of the connection. Behind proxies it is the last one in
// X-Forwarded-For that is not a proxy's: entries of the client stand before those of
// the proxies, and are never read. Addresses of version 6 count by their first 64 bits,
// which one subscriber has. Connections of the machine itself are not bounded: if a
// trusted proxy runs there, the clients behind it are.
//
//	property                                                        proven by
//	a target that is too long or no text is refused                 TestTarget, FuzzTarget
//	pages of other sites cannot write                               TestOtherSites
//	an address has its rate and its burst, and no more              TestRate
//	addresses do not take from each other; memory is bounded        TestManyAddresses
//	an address is not faked by a header                             TestAddress; FuzzClient (queue/queuehttp)
//	costly requests are bounded on all of their routes              TestCostly
//	a proxy that ends TLS is believed, and no other client          TestHTTPS
//	every answer has the headers, and may have stricter ones        TestHeaders
//
// Failure modes: clients that share an address share its rate; a large network behind
// one address needs a higher one. Each process counts alone: with n processes an address
// has n times the rate.
package door
